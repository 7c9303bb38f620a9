"""redis-py: reacquire() of a lock with a timeout of 0 deletes it and returns True."""
import sys

import redis

host, port = sys.argv[1].split(":")
client = redis.Redis(host, int(port))
first = client.lock("track", timeout=0)
second = client.lock("track", timeout=0)
assert first.acquire() and not second.acquire(blocking=False)
assert first.reacquire()
assert second.acquire(blocking=False), "not shown"
print("two hold the lock after reacquire() returned True")
