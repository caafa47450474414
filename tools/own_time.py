"""Runs a program under limits that a busy machine does not decide: processor time of all its processes, and how long they may use
none at all, as what hangs does. The clock alone decides last, for what waits in a loop. A program that ends and leaves processes
behind which hold its output open is not waited for: they are named and ended."""
import os
import pathlib
import signal
import subprocess
import time

IDLE_LIMITS, IDLE_SECONDS = 5, 300
CLOCK_LIMITS, CLOCK_SECONDS = 20, 1800
LEFT_SECONDS = 10  # how long the output may stay open after the program's end
TICKS = os.sysconf("SC_CLK_TCK")
LOOK_SECONDS = 1


class TooLong(Exception):
    """A limit was reached and the program is ended; what it had written until then is here."""

    def __init__(self, reason, out, err):
        super().__init__(reason)
        self.out, self.err = out, err


def processes():
    """(pid, name, the fields of its stat from the state on) of each process there is."""
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            name, _, fields = (folder / "stat").read_text(errors="replace").partition("(")[2].rpartition(")")
        except OSError:
            continue  # it has ended
        yield int(folder.name), name, fields.split()


def cpu_seconds(session):
    """Processor time of all processes of the session, and of their children that have ended."""
    return sum(sum(int(field) for field in fields[11:15]) for _, _, fields in processes() if int(fields[3]) == session) / TICKS


def holders(files):
    """Other processes that hold one of these pipes open, whatever session they went to: (pid, command)."""
    pipes = {os.readlink(f"/proc/self/fd/{file.fileno()}") for file in files if file and not file.closed}
    for pid, name, _ in processes():
        if pid == os.getpid():
            continue
        try:
            if pipes & {os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()}:
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                yield pid, command or name
        except OSError:
            continue


def end(process):
    """Ends the program and all that hold its output. Returns their commands."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    ended = []
    for pid, command in holders((process.stdout, process.stderr)):
        try:
            os.kill(pid, signal.SIGKILL)
            ended.append(command)
        except ProcessLookupError:
            pass
    return ended


class Watch:
    """Says when a program has reached a limit; to be asked now and then."""

    def __init__(self, process, limit):
        self.process, self.limit, self.used = process, limit, -1.0
        self.idle, self.clock = min(limit * IDLE_LIMITS, IDLE_SECONDS), min(limit * CLOCK_LIMITS, CLOCK_SECONDS)
        self.started = self.moved = time.monotonic()
        self.ended = None

    def reason(self):
        """What limit was reached, or None."""
        now, used = time.monotonic(), cpu_seconds(self.process.pid)
        if used != self.used:
            self.used, self.moved = used, now
        if self.process.poll() is not None:
            self.ended = self.ended or now
            if now - self.ended > LEFT_SECONDS:
                return "ended, but its output is still held open"
        if used > self.limit:
            return f"more than {self.limit} s of processor time"
        if now - self.moved > self.idle:
            return f"hangs: no processor time used for {self.idle} s"
        if now - self.started > self.clock:
            return f"longer than {self.clock} s"
        return None


def run(command, limit, started=None, **how):
    """As subprocess.run with capture_output, without check. started: is called with the Popen object."""
    process = subprocess.Popen([str(word) for word in command], start_new_session=True, stdin=subprocess.DEVNULL,
                               **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how)
    if started:
        started(process)
    watch, reason = Watch(process, limit), None
    try:
        while True:
            try:
                out, err = process.communicate(timeout=LOOK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                why = watch.reason()
                if why:
                    reason = reason or why
                    left = end(process)
                    reason += f"; ended: {', '.join(left)}" if left and "; ended" not in reason else ""
    except BaseException:  # Ctrl+C as well
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        raise
    if reason:
        raise TooLong(reason, out or b"", err or b"")
    return subprocess.CompletedProcess(command, process.returncode, out, err)
