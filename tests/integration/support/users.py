"""Other users: work in a process of theirs, and crowds of their processes that poll a daemon. For root only."""
import json
import os
import signal
import time
import traceback

from support import common, daemon as d

NOBODY = 65534


def become(uid):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


class Crowd:
    """Processes of one user that poll, take every request, and never write anything."""

    def __init__(self, daemon, count, uid=NOBODY, pause=0.05):
        self.pids = []
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                try:
                    become(uid)
                    common.die_with_parent()  # a change of user forgets it
                    with d.Client(daemon) as client:
                        while True:
                            client.send(d.poll(2, [os.getpid()]))
                            client.receive(1)
                            time.sleep(pause)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(1)
            self.pids.append(pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        for pid in self.pids:
            os.waitpid(pid, 0)


def as_user(uid, work):
    """What work() returns, in a process of that user."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(10 * d.DEADLINE)
            become(uid)
            os.write(write, json.dumps(work()).encode())
        except Exception as problem:
            os.write(write, json.dumps(repr(problem)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)
