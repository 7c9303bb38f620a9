"""redis-py's Lock: https://redis-py.readthedocs.io/en/stable/lock.html"""

import sys
import time

import redis
from protocol import Hold, serve

TIMEOUT = float(sys.argv[1]) if len(sys.argv) > 1 else None  # seconds; the default is no lease


class Client:
    def __init__(self, name, addresses):
        host, port = addresses["redis"][0].rsplit(":", 1)
        self.redis = redis.Redis(host, int(port))

    def acquire(self, resource, seconds, lost):
        since = time.monotonic()
        lock = self.redis.lock(resource, timeout=TIMEOUT, blocking_timeout=seconds)
        if not lock.acquire():
            return None
        return Hold(lambda: released(lock), since)


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
