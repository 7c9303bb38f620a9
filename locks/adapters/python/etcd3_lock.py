"""python-etcd3's Lock: https://python-etcd3.readthedocs.io/en/latest/usage.html#etcd3.Lock"""

import sys
import time

import etcd3
from protocol import Hold, serve

TTL = int(sys.argv[1]) if len(sys.argv) > 1 else 60  # seconds; nothing renews the lease


class Client:
    def __init__(self, name, addresses):
        host, port = addresses["etcd"][0].rsplit(":", 1)  # a client has one endpoint
        self.etcd = etcd3.client(host=host, port=int(port))

    def acquire(self, resource, seconds, lost):
        since = time.monotonic()
        lock = self.etcd.lock(resource, ttl=TTL)
        return Hold(lock.release, since) if lock.acquire(timeout=seconds) else None


serve({"servers": [{"role": "etcd"}], "lease_ms": TTL * 1000}, Client)
