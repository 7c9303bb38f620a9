-- Leave the queue of waiting processes. Who was woken but has nobody left to serve
-- leaves too, so that the wake-up passes to the next.
-- KEYS: the lock's key, the queue. ARGV: our channel, the resource.
-- Returns 1 if we stood in the queue, 2 if somebody was woken instead of us, else 0.
if redis.call('zrem', KEYS[2], ARGV[1]) == 1 then
	return 1
end
if redis.call('exists', KEYS[1]) == 1 then
	return 0
end
for _ = 1, 16 do
	local first = redis.call('zrange', KEYS[2], 0, 0)[1]
	if not first then
		return 0
	end
	redis.call('zrem', KEYS[2], first)
	if redis.call('publish', first, ARGV[2]) > 0 then
		return 2
	end
end
return 0
