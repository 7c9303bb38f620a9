-- Delete the key, even if another client holds it. KEYS: the lock's key.
return redis.call('del', KEYS[1])
