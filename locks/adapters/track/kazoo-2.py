"""kazoo without a listener: is_acquired stays true when the session, and the lock with it, is gone."""
import sys

from kazoo.client import KazooClient

holder, other = KazooClient(sys.argv[1]), KazooClient(sys.argv[1])
holder.start()
other.start()
lock = holder.Lock("/track")
assert lock.acquire()
thief = KazooClient(sys.argv[1], client_id=holder.client_id)  # ends the session, as the server does when it is late
thief.start()
thief.stop()
assert other.Lock("/track").acquire(timeout=20)
assert lock.is_acquired, "not shown"
print("two hold the lock after a session has ended")
