"""redis-py's Lock: https://redis-py.readthedocs.io/en/stable/lock.html"""

import sys
import time

import redis
from protocol import Hold, serve

TIMEOUT = float(sys.argv[1]) if len(sys.argv) > 1 else None  # seconds; the default is no lease
REACQUIRES = "--reacquire" in sys.argv  # as a holder does to begin its lease anew


class Timed(redis.lock.Lock):
    """Notes when each try began: the lease counts from the one that succeeded."""

    def do_acquire(self, token):
        self.since = time.monotonic()
        return super().do_acquire(token)


class Client:
    def __init__(self, name, addresses):
        host, port = addresses["redis"][0].rsplit(":", 1)
        self.redis = redis.Redis(host, int(port))

    def acquire(self, resource, seconds, lost):
        lock = self.redis.lock(resource, timeout=TIMEOUT, blocking_timeout=seconds, lock_class=Timed)
        if not lock.acquire():
            return None
        if REACQUIRES and not lock.reacquire():
            return None
        return Hold(lambda: released(lock), lock.since)


def released(lock):
    try:
        lock.release()
    except redis.exceptions.LockNotOwnedError:
        return False
    return True


hello = {"servers": [{"role": "redis", "nodes": 1}]}
if TIMEOUT:
    hello["lease_ms"] = int(TIMEOUT * 1000)
serve(hello, Client)
