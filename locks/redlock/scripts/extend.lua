-- Move the key's expiry, but only if it still carries our token. A missing key is never set
-- again: this command may arrive after its hold has ended.
-- KEYS: the lock's key. ARGV: our token, the lease time in ms. Returns 1 if it did.
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
