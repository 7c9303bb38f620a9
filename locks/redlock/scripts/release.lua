-- Delete the key, but only if it still carries our token.
-- KEYS: the lock's key. ARGV: our token. Returns 1 if it was deleted.
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('del', KEYS[1])
end
return 0
