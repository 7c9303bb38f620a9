"""PostgreSQL's advisory locks with psycopg2: https://www.postgresql.org/docs/current/explicit-locking.html"""

import psycopg2
from protocol import Hold, serve


class Client:
    def __init__(self, name, addresses):
        self.host, self.port = addresses["postgres"][0].rsplit(":", 1)

    def acquire(self, resource, seconds, lost):
        connection = psycopg2.connect(host=self.host, port=self.port, user="locklab", dbname="postgres")
        connection.autocommit = True
        cursor = connection.cursor()
        cursor.execute("SET lock_timeout = %s", (max(int(seconds * 1000), 1),))
        try:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (resource,))
        except psycopg2.errors.LockNotAvailable:
            connection.close()
            return None
        return Hold(lambda: release(connection, cursor, resource))


def release(connection, cursor, resource):
    try:
        cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (resource,))
        return cursor.fetchone()[0]
    finally:
        connection.close()


serve({"servers": [{"role": "postgres", "nodes": 1}]}, Client)
