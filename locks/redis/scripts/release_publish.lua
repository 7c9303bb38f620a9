-- Delete the key, but only if it still carries our token, and wake the waiters. A refused
-- message does not undo the deletion.
-- KEYS: the lock's key. ARGV: our token. Returns 1 if it was deleted.
if redis.call('get', KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call('del', KEYS[1])
redis.pcall('publish', 'free:' .. string.sub(KEYS[1], #'lock:' + 1), ARGV[1])
return 1
