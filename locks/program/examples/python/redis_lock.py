#!/usr/bin/env python3
"""A lock on one Redis server for locklab, with Python's standard library only.

    locklab run --lock-cmd 'py-redis=python3 redis_lock.py' --locks redis,redlock

SET key value NX PX ttl takes the lock, a script deletes the key if the value is still
one's own, and nothing extends a lease. The protocol is in locks/program/README.md.
"""

import argparse
import json
import secrets
import socket
import sys
import threading
import time

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"


class Redis:
    """A connection of one thread. After any error the next command dials again."""

    def __init__(self, addr):
        host, port = addr.rsplit(":", 1)
        self.addr = (host, int(port))
        self.file = None

    def command(self, deadline, *words):
        """Sends a command and returns its answer: an int, a str or None."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no time is left")
        try:
            if self.file is None:
                sock = socket.create_connection(self.addr, timeout=left)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.file = sock.makefile("rwb")
                self.sock = sock
            self.sock.settimeout(left)
            parts = [str(w).encode() for w in words]
            self.file.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            self.file.flush()
            return self.answer()
        except OSError:
            self.close()
            raise

    def answer(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if rest == "-1":
                return None
            return self.file.read(int(rest) + 2)[:-2].decode()
        raise ConnectionError("the server says " + line.decode().strip())

    def close(self):
        if self.file is not None:
            self.sock.close()
            self.file = None


class Acquisition:
    """One acquisition, in a thread of its own from acquire to the answer of its release."""

    def __init__(self, client, ask, read_at):
        self.client, self.id, self.read_at = client, ask["id"], read_at
        self.key = "py:" + ask["resource"]
        self.value = secrets.token_hex(16)
        self.deadline = read_at + ask["deadline_ms"] / 1000
        self.released = threading.Event()
        self.release_deadline = None

    def run(self):
        redis = self.client.connection()
        outcome = self.acquire(redis)
        self.client.say(op="acquire", id=self.id, **outcome)
        answer = {"outcome": "failed", "error": "it is not held"}
        if outcome["outcome"] == "ok":
            self.released.wait()
            answer = self.give_back(redis)
        if self.client.end(self, redis):
            self.client.say(op="release", id=self.id, **answer)

    def acquire(self, redis):
        sure = True  # surely no command of this acquisition has set the key
        while not self.released.is_set() and time.monotonic() < self.deadline:
            asked = time.monotonic()
            try:
                if redis.command(self.deadline, "SET", self.key, self.value, "NX", "PX", self.client.ttl_ms) == "OK":
                    until = asked - self.read_at + self.client.ttl_ms / 1000
                    return {"outcome": "ok", "until_ms": max(1, int(until * 1000))}
            except OSError as error:
                sure = False
                self.released.wait(0.02)
                reason = str(error)
            else:
                self.released.wait(0.005 + secrets.randbelow(10) / 1000)
        if sure:
            return {"outcome": "failed", "error": "somebody else holds it"}
        try:  # delete the key, if the server can be reached by now
            redis.command(time.monotonic() + 0.1, "EVAL", RELEASE, 1, self.key, self.value)
        except OSError:
            pass
        return {"outcome": "unknown", "error": reason or "no answer"}

    def give_back(self, redis):
        try:
            gone = redis.command(self.release_deadline, "EVAL", RELEASE, 1, self.key, self.value) == 0
        except OSError as error:
            return {"outcome": "unknown", "error": str(error) or "no answer"}
        if gone:
            return {"outcome": "failed", "error": "the lease had ended"}
        return {"outcome": "ok"}


class Client:
    def __init__(self, ttl_ms):
        self.ttl_ms = ttl_ms
        self.addr = None
        self.lock = threading.Lock()  # guards the fields below and standard output
        self.less = threading.Condition(self.lock)  # notified when under_way has shrunk
        self.under_way = {}
        self.free = []

    def say(self, **line):
        text = json.dumps(line)
        with self.lock:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def connection(self):
        with self.lock:
            return self.free.pop() if self.free else Redis(self.addr)

    def end(self, acquisition, redis):
        """Forgets the acquisition, and returns whether its release has to be answered."""
        with self.lock:
            self.free.append(redis)
            del self.under_way[acquisition.id]
            self.less.notify_all()
            return acquisition.released.is_set()

    def drain(self):
        """Waits up to a second until all released locks are given back."""
        with self.lock:
            self.less.wait_for(lambda: not self.under_way, timeout=1)

    def hear(self, ask):
        now = time.monotonic()
        if ask["op"] == "hello":
            if ask.get("servers"):
                self.addr = ask["servers"][0]["addr"]
            self.say(op="hello", version=1, lease_ms=self.ttl_ms, servers=[{"role": "redis", "nodes": 1}])
        elif ask["op"] == "acquire":
            acquisition = Acquisition(self, ask, now)
            with self.lock:
                self.under_way[ask["id"]] = acquisition
            threading.Thread(target=acquisition.run, daemon=True).start()
        elif ask["op"] == "release":
            with self.lock:
                acquisition = self.under_way.get(ask["id"])
                if acquisition is not None:
                    acquisition.release_deadline = now + ask["deadline_ms"] / 1000
                    acquisition.released.set()
            if acquisition is None:
                self.say(op="release", id=ask["id"], outcome="failed", error="it is not held")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ttl-ms", type=int, default=2000)
    client = Client(parser.parse_args().ttl_ms)
    for line in sys.stdin:
        client.hear(json.loads(line))
    client.drain()


if __name__ == "__main__":
    main()
