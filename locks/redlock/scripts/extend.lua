-- Move the key's end of life, but only if it still carries our token; where the
-- instance lost the key, set it again.
-- KEYS: the lock's key. ARGV: our token, the lease time in ms.
-- Returns 1 if the key was there, 2 if it was set again, 0 if it is another's.
local holder = redis.call('get', KEYS[1])
if holder == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
if not holder then
	redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return 2
end
return 0
