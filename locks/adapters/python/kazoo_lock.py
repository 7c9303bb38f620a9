"""kazoo's Lock recipe: https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html"""

import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.protocol.states import KazooState
from protocol import Hold, serve

LISTENS = "--listener" in sys.argv  # its documentation: "it is crucial that the listener is added"


class Client:
    def __init__(self, name, addresses):
        self.zk = KazooClient(",".join(addresses["zookeeper"]), timeout=3.0)
        self.mutex, self.holders = threading.Lock(), {}
        if LISTENS:
            self.zk.add_listener(self.changed)
        self.zk.start_async()  # a server that is away must not end the program

    def changed(self, state):
        if state == KazooState.CONNECTED:
            return
        with self.mutex:
            lost, self.holders = self.holders, {}
        for tell in lost.values():
            tell("the connection is " + state)

    def acquire(self, resource, seconds, lost):
        lock = self.zk.Lock("/locks/" + resource.replace("/", "%2F"))
        try:
            if not lock.acquire(timeout=seconds):
                return None
        except LockTimeout:
            return None
        with self.mutex:
            self.holders[lock] = lost
        return Hold(lambda: self.release(lock))

    def release(self, lock):
        with self.mutex:
            self.holders.pop(lock, None)
        return lock.release()


serve({"servers": [{"role": "zookeeper"}]}, Client)
