"""Runs the program and tells how much memory it had at most. The kernel counts it (wait4), so nothing is missed between two looks."""
import os
import signal
import tempfile
import threading

from support import common


class Peak:
    """What came of a program: exit code (negative: a signal), output, errors, the largest resident memory in bytes."""

    def __init__(self, code, out, err, peak):
        self.code, self.out, self.err, self.peak = code, out, err, peak

    def __str__(self):
        return f"exit {self.code}, {self.peak >> 20} MiB, {self.err.decode('utf-8', 'replace')[-300:]}"


def run(*arguments, timeout=120, limits=(), program=None):
    """`limits`: pairs for setrlimit. The time only ends what would never end."""
    import resource
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull, "rb") as nothing:
        command = [program or common.program(), *map(str, arguments)]
        pid = os.fork()
        if pid == 0:
            try:
                for source, target in ((nothing, 0), (out, 1), (err, 2)):
                    os.dup2(source.fileno(), target)
                for which, value in limits:
                    resource.setrlimit(which, (value, value))
                os.execv(command[0], command)
            finally:
                os._exit(127)
        timer = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(pid, 0)
        timer.cancel()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
        return Peak(os.waitstatus_to_exitcode(status), *texts, usage.ru_maxrss * 1024)
