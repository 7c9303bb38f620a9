"""MariaDB's GET_LOCK with PyMySQL: https://mariadb.com/kb/en/get_lock/"""

import hashlib

import pymysql
from protocol import Hold, serve


class Client:
    def __init__(self, name, addresses):
        host, port = addresses["mariadb"][0].rsplit(":", 1)
        self.server = {"host": host, "port": int(port), "user": "locklab"}

    def acquire(self, resource, seconds, lost):
        name = hashlib.sha256(resource.encode()).hexdigest()  # the server takes 64 characters
        connection = pymysql.connect(**self.server)
        cursor = connection.cursor()
        cursor.execute("SELECT GET_LOCK(%s, %s)", (name, seconds))
        if cursor.fetchone()[0] == 1:
            return Hold(lambda: release(connection, cursor, name))
        connection.close()
        return None


def release(connection, cursor, name):
    try:
        cursor.execute("SELECT RELEASE_LOCK(%s)", (name,))
        return cursor.fetchone()[0] == 1
    finally:
        connection.close()


serve({"servers": [{"role": "mariadb", "nodes": 1}]}, Client)
