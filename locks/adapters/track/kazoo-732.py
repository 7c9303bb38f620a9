"""kazoo: when the connection breaks as a contender gives up, its node stays, and blocks everybody."""
import socket
import sys

from kazoo.client import KazooClient

one, two = KazooClient(sys.argv[1]), KazooClient(sys.argv[1])
one.start()
two.start()
delete = two.delete


def breaks(path):
    two._connection._socket.shutdown(socket.SHUT_RDWR)
    return delete(path)


two.delete = breaks
held = one.Lock("/track")
assert held.acquire()
assert not two.Lock("/track").acquire(blocking=False)
held.release()
assert not one.Lock("/track").acquire(blocking=False), "not shown"
print("nobody holds the lock and nobody gets it:", one.get_children("/track"))
