-- release.lua for the instance that keeps the queue of waiting processes: if the
-- lock is free afterwards, the first of the queue is woken, or, when the releasing
-- process serves one of its own next, only reported. What the server refuses of that
-- does not undo the deletion.
-- KEYS: the lock's key, the queue. ARGV: our token, 1 to wake, the resource.
-- Returns 1 if the key was deleted, plus 2 if somebody was woken or waits, plus 4 if the
-- server refused to say or to wake.
local deleted = 0
local holder = redis.call('get', KEYS[1])
if holder == ARGV[1] then
	deleted = redis.call('del', KEYS[1])
elseif holder then
	return 0
end
local function wake()
	if ARGV[2] ~= '1' then
		return redis.call('zcard', KEYS[2]) > 0
	end
	for _ = 1, 16 do
		local first = redis.call('zrange', KEYS[2], 0, 0)[1]
		if not first then
			return false
		end
		redis.call('zrem', KEYS[2], first)
		-- Nobody listens: that process is gone, so the next one is due.
		if redis.call('publish', first, ARGV[3]) > 0 then
			return true
		end
	end
	return false
end
local allowed, waits = pcall(wake)
if not allowed then
	return deleted + 4
elseif waits then
	return deleted + 2
end
return deleted
