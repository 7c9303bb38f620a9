"""tooz's locks: https://docs.openstack.org/tooz/latest/user/tutorial/lock.html"""

import sys

from protocol import Hold, serve
from tooz import coordination

DRIVER = sys.argv[1]  # redis, zookeeper or etcd3gw
ROLE = {"etcd3gw": "etcd"}.get(DRIVER, DRIVER)
URL = {
    "redis": "redis://{}?lock_timeout=3",
    "zookeeper": "zookeeper://{}?timeout=3",
    "etcd3gw": "etcd3+http://{}",
}[DRIVER]


class Client:
    def __init__(self, name, addresses):
        all_of_them = DRIVER == "zookeeper"  # the other drivers take one address
        hosts = ",".join(addresses[ROLE]) if all_of_them else addresses[ROLE][0]
        self.coordinator = coordination.get_coordinator(URL.format(hosts), name.encode())
        self.coordinator.start(start_heart=True)

    def acquire(self, resource, seconds, lost):
        lock = self.coordinator.get_lock(resource.encode().hex().encode())  # a path may not be ".."
        return Hold(lock.release) if lock.acquire(blocking=seconds) else None


serve({"servers": [{"role": ROLE} | ({"nodes": 1} if ROLE == "redis" else {})]}, Client)
