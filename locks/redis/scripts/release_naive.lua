-- Delete the key, whoever it belongs to by now. KEYS: the lock's key.
return redis.call('del', KEYS[1])
