-- Move the key's end of life, but only if it still carries our token. A key that is gone is
-- never set again: this command may arrive after its hold is over.
-- KEYS: the lock's key. ARGV: our token, the lease time in ms. Returns 1 if it did.
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
