"""The lock program's protocol for Python libraries: locks/program/README.md.

serve() reads the lab's lines and runs every acquisition in a thread of its own, as a server
with many requests would. A library's client is an object with one method:

    acquire(resource, seconds, lost) -> Hold, or None if it is surely not held

An exception means that nobody knows. lost(why) may be called while it is held. A call that
does not return in time is answered with "unknown"; what it acquires later is released.
"""

import json
import os
import sys
import threading
import time

MARGIN = 0.05  # seconds of each deadline for the answer itself


class Hold:
    """A held lock. release() returns whether it was still held; an exception means unknown."""

    def __init__(self, release, since=None):
        self.release = release
        self.since = since  # time.monotonic() before the request that set the lease


class Acquisition:
    def __init__(self, server, ask):
        self.server, self.id, self.resource = server, ask["id"], ask["resource"]
        self.read_at = time.monotonic()
        self.seconds = ask["deadline_ms"] / 1000
        self.mutex = threading.Lock()
        self.said = {}  # the outcomes, by operation
        self.over = threading.Event()  # its release was asked for

    def answer(self, op, outcome, error=None, **fields):
        """Answers, unless that was done: then it returns False."""
        with self.mutex:
            if op in self.said:
                return False
            self.said[op] = outcome
            if outcome != "ok":
                fields["error"] = error or "the library gives no reason"
            self.server.say(op=op, id=self.id, outcome=outcome, **fields)
            return True

    def lost(self, why):
        with self.mutex:
            if self.said.get("acquire") == "ok" and not self.over.is_set():
                self.server.say(op="lost", id=self.id, error=why)

    def run(self):
        hold, in_time = None, True
        try:
            hold = self.server.client.acquire(self.resource, max(self.seconds - MARGIN, 0.01), self.lost)
        except Exception as error:
            self.answer("acquire", "unknown", repr(error))
        else:
            if hold is None:
                self.answer("acquire", "failed", "another client holds it")
            else:
                in_time = self.answer("acquire", "ok", **self.fields(hold))
        if in_time:
            self.over.wait()
        outcome, why = "failed", "it is not held"
        if hold is not None:
            try:
                outcome = "ok" if hold.release() else "failed"
            except Exception as error:
                outcome, why = "unknown", repr(error)
        self.over.wait()
        self.answer("release", outcome, why)

    def fields(self, hold):
        lease = self.server.hello.get("lease_ms")
        if not lease:
            return {}
        since = self.read_at if hold.since is None else hold.since
        return {"until_ms": max(1, int((since - self.read_at) * 1000 + lease))}

    def expire(self, op, seconds):
        timer = threading.Timer(seconds, self.answer, (op, "unknown", "the library did not return in time"))
        timer.daemon = True
        timer.start()


class Server:
    def __init__(self, hello):
        self.hello, self.client = hello, None
        self.out = threading.Lock()

    def say(self, **fields):
        with self.out:
            print(json.dumps(fields), flush=True)


def serve(hello, connect):
    """Speaks the protocol. connect(name, addresses by role) makes the library's client."""
    server, asked = Server(hello), {}
    for line in sys.stdin:
        ask = json.loads(line)
        if ask["op"] == "hello":
            addresses = {}
            for node in ask["servers"]:
                addresses.setdefault(node["role"], []).append(node["addr"])
            server.say(op="hello", version=1, **hello)
            if addresses:
                server.client = connect(ask["client"], addresses)
        elif ask["op"] == "acquire":
            a = asked[ask["id"]] = Acquisition(server, ask)
            a.expire("acquire", a.seconds)
            threading.Thread(target=a.run, daemon=True).start()
        else:
            a = asked.pop(ask["id"])
            a.answer("acquire", "unknown", "it was given up")
            a.expire("release", ask["deadline_ms"] / 1000)
            a.over.set()
    os._exit(0)
