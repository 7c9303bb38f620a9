-- Delete the key, but only if it still carries our token, and tell who waits.
-- KEYS: the lock's key. ARGV: our token. Returns 1 if it was deleted.
if redis.call('get', KEYS[1]) == ARGV[1] then
	redis.call('del', KEYS[1])
	redis.call('publish', 'free:' .. string.sub(KEYS[1], #'lock:' + 1), ARGV[1])
	return 1
end
return 0
