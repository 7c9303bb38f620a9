"""kazoo: when the connection breaks as a contender gives up, its node stays, and blocks everybody."""
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss

one, two = KazooClient(sys.argv[1]), KazooClient(sys.argv[1])
one.start()
two.start()
held = one.Lock("/track")
assert held.acquire()
delete = two.delete


def breaks(path):
    two.delete = delete  # from now on the connection is there again, with the same session
    raise ConnectionLoss


two.delete = breaks
assert not two.Lock("/track").acquire(blocking=False)
held.release()
assert not one.Lock("/track").acquire(blocking=False), "not shown"
print("nobody holds the lock and nobody gets it:", one.get_children("/track"))
