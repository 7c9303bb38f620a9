-- Join the queue of waiting processes, unless the lock is free and nobody waits.
-- KEYS: the lock's key, the queue. ARGV: our channel, how many ms the queue is kept
-- without anybody joining it.
-- Returns -1 if there is nothing to wait for, else how many ms the lock's key has
-- left to live (0 if the lock is just being handed over).
local left = redis.call('pttl', KEYS[1])
if left < 0 then
	left = 0
	if redis.call('exists', KEYS[1]) == 0 and redis.call('zcard', KEYS[2]) == 0 then
		return -1
	end
end
if not redis.call('zscore', KEYS[2], ARGV[1]) then
	local last = redis.call('zrange', KEYS[2], -1, -1, 'WITHSCORES')[2]
	redis.call('zadd', KEYS[2], (tonumber(last) or 0) + 1, ARGV[1])
end
redis.call('pexpire', KEYS[2], ARGV[2])
return left
