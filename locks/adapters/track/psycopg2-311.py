"""psycopg2: `closed` stays 0 when the server has ended the session, and the advisory lock with it."""
import sys

import psycopg2

host, port = sys.argv[1].split(":")
first, second = [psycopg2.connect(host=host, port=port, user="locklab", dbname="postgres") for _ in range(2)]
first.cursor().execute("SELECT pg_advisory_lock(1)")
ask = second.cursor()
ask.execute("SELECT pg_terminate_backend(%s)", (first.info.backend_pid,))  # as a restart of the server does
ask.execute("SELECT pg_advisory_lock(1)")
assert not first.closed, "not shown"
print("two hold the lock; the first one's connection is not closed")
