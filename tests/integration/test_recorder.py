#!/usr/bin/env python3
"""Programs that record with libkino: what they did must not change whatever happens to the recorder, and the trace says what
was recorded. Threads, 50 forked children, exit without stop, a crash, a full disk, a folder that cannot be written, no memory, limits."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from support import recorded


class Fates:
    def __init__(self, test, program, folder):
        self.test, self.program, self.folder = test, program, folder

    def run(self, mode, out, kino_dir=None, code=3, **env):
        """Runs the program; checks that it did its own work. Returns what it complained about."""
        buffers = kino_dir or self.folder / "buffers"
        if not kino_dir:
            buffers.mkdir(exist_ok=True)
        done = subprocess.run([self.program, mode, out], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "KINO_DIR": str(buffers), **env})
        self.test.check(done.returncode == code, f"{mode}: exit code {done.returncode}, not {code}: {done.stderr}")
        self.test.check(done.stdout == "result 42\n", f"{mode}: printed {done.stdout!r}")
        if not kino_dir and mode not in ("segv", "_exit"):
            self.test.check(not list(buffers.iterdir()), f"{mode}: left {list(buffers.iterdir())}")
        return done.stderr

    def trace(self, out):
        return json.load(open(out))

    @staticmethod
    def spans(document, name):
        return [e for e in document["traceEvents"] if e["ph"] == "X" and e["name"] == name]

    def threads(self):
        out = self.folder / "threads.json"
        self.run("threads", out)
        document = self.trace(out)
        names = {e["tid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "thread_name"}
        self.test.check(len(names) == 9, f"threads: rows {names}")
        self.test.check(sum("(worker " in n for n in names.values()) == 8, f"threads: names {names}")
        for tid, name in names.items():
            inner = [e for e in self.spans(document, "inner") if e["tid"] == tid]
            outer = [e for e in self.spans(document, "work") if e["tid"] == tid]
            want = 10 if "worker" in name else 7
            self.test.check((len(inner), len(outer)) == (want, 1), f"threads: {name} has {len(inner)} and {len(outer)} spans")
            first, last = outer[0]["ts"], outer[0]["ts"] + outer[0]["dur"]
            self.test.check(all(first <= e["ts"] and e["ts"] + e["dur"] <= last + 0.0015 for e in inner), f"threads: {name}: not nested")
        self.test.check(document["kino_loss"] == {}, f"threads: loss {document['kino_loss']}")
        sites = {s["name"]: s for s in document["kino_sites"]}
        self.test.check(sites["inner"]["file"].endswith("modes.c") and sites["inner"]["function"] == "work", f"sites {sites}")

    def forks(self):
        out = self.folder / "forks.json"
        self.run("forks", out)
        document = self.trace(out)
        # the parent's own: 7 at the start, one after each child
        self.test.check(len(self.spans(document, "inner")) == 57, f"forks: {len(self.spans(document, 'inner'))} spans in the parent")
        children = sorted(self.folder.glob("forks.json.*"))
        self.test.check(len(children) == 10, f"forks: {len(children)} children recorded")
        for child in children:
            own = self.trace(child)
            self.test.check(len(self.spans(own, "inner")) == 3, f"forks: {child.name}: {len(self.spans(own, 'inner'))} spans")

    def ends(self):
        out = self.folder / "exit.json"
        self.run("exit", out)
        self.test.check(len(self.spans(self.trace(out), "inner")) == 7, "exit: the session was not saved")
        out = self.folder / "forget.json"
        self.run("forget", out)
        self.test.check(not out.exists(), "forget: something was saved")

    def crashes(self):
        for mode, code, spans in ("segv", -signal.SIGSEGV, 7), ("_exit", 3, 7):
            self.run(mode, self.folder / "never.json", code=code)
            left = list((self.folder / "buffers").iterdir())
            self.test.check(len(left) == 1, f"{mode}: left {left}")
            out = self.folder / f"{mode}.json"
            done = subprocess.run([recorded.KINO, "recover", left[0], out], capture_output=True, text=True)
            self.test.check(done.returncode == 0, f"{mode}: recover: {done.stderr}")
            document = self.trace(out)
            self.test.check(len(self.spans(document, "inner")) == spans, f"{mode}: {len(self.spans(document, 'inner'))} spans")
            self.test.check(document["kino_loss"].get("ended_without_stop") is True, f"{mode}: {document['kino_loss']}")
            told = subprocess.run([recorded.KINO, "info", out], capture_output=True, text=True).stdout
            self.test.check("1 of 1 recordings ended with their process, without being stopped" in told, f"{mode}: info: {told}")
            if mode == "segv":
                fatal = self.spans(document, "fatal")
                self.test.check(len(fatal) == 1 and fatal[0]["args"]["finished"] is False, f"segv: the open span: {fatal}")
            for path in left[0].iterdir():
                path.unlink()
            left[0].rmdir()

    def refusals(self):
        out = self.folder / "refused.json"
        told = self.run("plain", out, self.folder / "nowhere")
        self.test.check("not recorded: cannot create a directory for buffers in" in told, f"no folder: {told}")
        in_the_way = self.folder / "file"
        in_the_way.write_text("")
        told = self.run("plain", out, in_the_way)
        self.test.check("not recorded: cannot create a directory for buffers in" in told and "not a directory" in told.lower(),
                        f"a file: {told}")
        told = self.run("plain", out, pathlib.Path("/proc"))  # nobody makes folders there, root neither
        self.test.check("not recorded: cannot create a directory for buffers in '/proc'" in told, f"/proc: {told}")
        if os.getuid() != 0:  # root may write there all the same
            closed = self.folder / "closed"
            closed.mkdir(0o500)
            told = self.run("plain", out, closed)
            self.test.check("permission denied" in told, f"closed: {told}")
        told = self.run("limit", out)
        self.test.check("exceeds the file size limit" in told, f"limit: {told}")
        told = self.run("late-limit", out)
        self.test.check("not saved: " in told, f"late-limit: {told}")
        self.test.check(not out.exists(), "something was saved after all")

    def memory(self):
        """Address space that is over: before the session there is none, in the middle of it everything is recorded all the same."""
        out = self.folder / "memory.json"
        if recorded.sanitizer_flags():
            return  # they need more of it than there is
        told = self.run("memory", out)
        self.test.check("not recorded: " in told and "memory" in told, f"memory: {told}")
        self.test.check(not out.exists(), "memory: something was saved")
        told = self.run("late-memory", out)
        self.test.check("not dumped: " in told, f"late-memory: {told}")
        document = self.trace(out)
        self.test.check(len(self.spans(document, "inner")) == 14, f"late-memory: {len(self.spans(document, 'inner'))} spans")
        made = {e["name"] for e in document["traceEvents"] if e["name"].startswith("made ")}
        self.test.check(made == {f"made {i}" for i in range(100)}, f"late-memory: {len(made)} names")
        self.test.check(document["kino_loss"] == {}, f"late-memory: loss {document['kino_loss']}")

    def mounted(self, options, words):
        """The program with its buffers on a file system with these options, in a name space of our own; where the system does not
        let us have one, this part is left out."""
        script = 'mkdir -p "$1" && mount -t tmpfs -o "$2" none "$1" && KINO_DIR="$1" exec "$3" plain "$4"'
        command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
        mount = self.folder / "mounted"
        try:
            possible = subprocess.run(["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                                      capture_output=True).returncode == 0
        except FileNotFoundError:
            possible = False
        if not possible:
            print(f"left out: {words[-1]}: needs name spaces")
            return
        done = subprocess.run([*command, mount, options, self.program, self.folder / "never.json"], capture_output=True, text=True)
        self.test.check((done.returncode, done.stdout) == (3, "result 42\n"), f"{options}: {done}")
        self.test.check(all(word in done.stderr for word in words), f"{options}: {done.stderr}")

    def file_systems(self):
        self.mounted("size=1m,mode=0777", ["not recorded: cannot allocate", "no space left"])
        self.mounted("ro", ["not recorded: cannot create a directory for buffers in", "read-only file system"])

    def formats(self):
        plain, own = self.folder / "plain.json", self.folder / "plain.kino"
        self.run("plain", own)
        done = subprocess.run([recorded.KINO, "convert", own, plain], capture_output=True, text=True)
        self.test.check(done.returncode == 0, f"convert: {done.stderr}")
        self.test.check(len(self.spans(self.trace(plain), "inner")) == 7, "convert: spans are missing")
        data = own.read_bytes()
        own.write_bytes(data[:-50])  # the end is lost, the recording is not
        again = self.folder / "again.json"
        done = subprocess.run([recorded.KINO, "recover", own, again], capture_output=True, text=True)
        self.test.check(done.returncode == 0 and len(self.spans(self.trace(again), "inner")) == 7, f"a cut file: {done.stderr}")


def clock(test, folder):
    """Times keep to CLOCK_MONOTONIC_RAW within a microsecond. A minute of it: build/bench/bench_record_clock OUT.json"""
    program = test.compile(recorded.ROOT / "bench/record_clock.c", folder / "clock")
    done = subprocess.run([program, folder / "clock.json", "--seconds", "1"], capture_output=True, text=True)
    test.check(done.returncode == 0 and json.loads(done.stdout)["marks"] > 10, f"clock: {done}")


def example(test, folder):
    """examples/zones does what its first lines say."""
    program = test.compile(recorded.ROOT / "examples/zones/zones.c", folder / "zones", "-lm")
    done = subprocess.run([program, "3"], cwd=folder, capture_output=True, text=True)
    test.check(done.returncode == 0 and done.stdout.startswith("loss ") and not done.stderr, f"example: {done}")
    done = subprocess.run([recorded.KINO, "query", folder / "zones.json", "select count(*) from event where name = 'multiply'",
                           "--format", "json"], capture_output=True, text=True)
    test.check(json.loads(done.stdout)["tables"][0]["rows"] == [[360]], f"example: {done.stdout}{done.stderr}")  # 3 steps of 120 rows


def copies(test, folder):
    """One tracer however many copies of the library are loaded."""
    program, out = test.compile("copies.c", folder / "copies", is_static=True), folder / "copies.json"
    done = subprocess.run([program, recorded.LIBRARIES / "libkino.so", out], capture_output=True, text=True)
    test.check(done.returncode == 0, f"copies: {done}")
    if done.returncode != 0:
        return
    spans = {e["name"]: e for e in json.load(open(out))["traceEvents"] if e["ph"] == "X" and e["cat"] == "cpu_op"}
    test.check(sorted(spans) == ["ended by the other copy", "function of the other copy", "function of the program",
                                 "of the other copy", "of the program"], f"copies: {spans}")
    plain = [e for name, e in spans.items() if "function" not in name]
    test.check(len({e["tid"] for e in spans.values()}) == 1 and not any("args" in e for e in plain), f"copies: {spans}")


def check_told(test, out, loss):
    """kino check and kino info say what the trace's own account says, by thread and reason."""
    done = subprocess.run([recorded.KINO, "check", out, "--format", "json"], capture_output=True, text=True)
    tables = {t["name"]: [dict(zip([c["name"] for c in t["columns"]], row)) for row in t["rows"]]
              for t in json.loads(done.stdout)["tables"]}
    told = sorted((row["thread"] or 0, row["reason"], row["count"]) for row in tables["recorder_losses"])
    want = [(0, key, value) for key, value in loss.items() if isinstance(value, int)]
    want += [(t["tid"], key, value) for t in loss["threads"] for key, value in t.items() if key != "tid"]
    test.check(told == sorted(want), f"check: {told[:5]} ..., not {sorted(want)[:5]} ...")
    dropped = [row["count"] for row in tables["findings"] if row["kind"] == "profiler_dropped"]
    test.check(dropped == [loss["buffer_full"]], f"check: {dropped} dropped, not {loss['buffer_full']}")
    done = subprocess.run([recorded.KINO, "info", out], capture_output=True, text=True)
    test.check(f"the recorder dropped {loss['buffer_full']} events: buffer full" in done.stdout, f"info: {done.stdout[-300:]}")


def soak(test, folder):
    """A second at full rate on three threads and others that come and go: within the budget, and every span is in the trace or
    counted as lost. Ten minutes of it: build/bench/bench_record_soak --seconds 600."""
    if recorded.sanitizer_flags():
        return  # their memory is counted, too
    program = test.compile(recorded.ROOT / "bench/record_soak.c", folder / "soak")
    for mode in [], ["--capture"]:
        out = folder / "soak.json"
        done = subprocess.run([program, "--seconds", "0.7", "--threads", "3", "--budget", "6", "--save", out, *mode],
                              capture_output=True, text=True)
        test.check(done.returncode == 0, f"soak: {done}")
        told, document = json.loads(done.stdout), json.load(open(out))
        kept = sum(e["ph"] == "X" and e["name"] in ("outer", "inner", "guest") for e in document["traceEvents"])
        steps = sum(e["ph"] == "X" and e["name"].startswith("ProfilerStep#") for e in document["traceEvents"])
        loss = document["kino_loss"]
        lost = sum(value for key, value in loss.items() if key in ("buffer_full", "overwritten", "too_many_threads"))
        # steps are records, too; those that are lost are not told apart, and the last one is never written
        test.check(told["spans"] <= kept + lost <= told["spans"] + 200, f"soak: {told} but {kept} kept, {steps} steps, {loss}"[:600])
        test.check(kept > 50000, f"soak: only {kept} spans are left")
        if mode:
            check_told(test, out, loss)


def main():
    test = recorded.Test()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for is_static in False, True:
            where = folder / ("static" if is_static else "shared")
            where.mkdir()
            if is_static and recorded.sanitizer_flags():
                break
            fates = Fates(test, test.compile("modes.c", where / "modes", is_static=is_static), where)
            for part in fates.threads, fates.forks, fates.ends, fates.crashes, fates.refusals, fates.memory, fates.file_systems, fates.formats:
                part()
        soak(test, folder)
        clock(test, folder)
        example(test, folder)
        if not recorded.sanitizer_flags():
            copies(test, folder)
    return test.end()


if __name__ == "__main__":
    sys.exit(main())
