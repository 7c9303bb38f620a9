"""python-etcd3 with tenacity 8.2: a client that has to wait for the lock gets a TypeError."""
import sys

import etcd3

host, port = sys.argv[1].split(":")
client = etcd3.client(host, int(port))
assert client.lock("track").acquire()
try:
    client.lock("track").acquire(timeout=1)
except TypeError as error:
    print("acquire() raised", repr(error))
else:
    sys.exit("not shown")
