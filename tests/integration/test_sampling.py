#!/usr/bin/env python3
"""CPU samples by kino record, of a program whose time is known: shares of functions, stacks with and without frame
pointers, source lines, time off the processor, page faults, threads and children, code made at run time, files that
are gone, a normal user, and what is said where the kernel refuses."""
import collections
import ctypes
import decimal
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parent / "sampling" / "busy.c"
UNIT_MS, PAGES, ROUNDS = 15, 2048, 3
report = common.Report()
skipped = []


def line_of(mark):
    return 1 + next(i for i, line in enumerate(SOURCE.read_text().splitlines()) if f"/* {mark} */" in line)


def compile_program(folder, name, *flags):
    compiler = shutil.which("cc") or shutil.which("gcc") or common.skip("no C compiler")
    done = subprocess.run([compiler, "-g", "-pthread", *flags, str(SOURCE), "-o", str(folder / name)],
                          capture_output=True, text=True, check=False)
    report.equal(f"{name} compiles", (done.returncode, done.stderr), (0, ""))
    return folder / name


def record(output, *command, options=(), **more):
    done = common.run("record", *options, "-o", output, "--", *command, **more)
    return done.returncode, done.stderr.decode("utf-8", "replace")


class Trace:
    """Spans by category, with the chain of names around each."""

    def __init__(self, path):
        document = json.loads(pathlib.Path(path).read_text(), parse_float=decimal.Decimal)
        self.events = document["traceEvents"]
        first = min((e["ts"] for e in self.events if "ts" in e), default=0)
        for event in self.events:  # doubles are exact enough once the date is gone
            event.update({key: float(event[key] - (first if key == "ts" else 0)) for key in ("ts", "dur") if key in event})
        self.loss = document.get("kino_loss")
        self.tracks = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X" and event.get("cat") in ("cpu_sample", "off_cpu"):
                self.tracks[event["cat"], str(event["tid"])].append(event)
        for spans in self.tracks.values():
            self.nest(spans)

    @staticmethod
    def nest(spans):
        spans.sort(key=lambda e: (e["ts"], -e["dur"]))
        stack = []
        for span in spans:
            end = span["ts"] + span["dur"]
            while stack and stack[-1]["ts"] + stack[-1]["dur"] < end - 0.0015:
                stack.pop()
            span["chain"] = [s["name"] for s in stack] + [span["name"]]
            stack.append(span)

    def spans(self, category):
        return [span for (cat, _), spans in self.tracks.items() if cat == category for span in spans]

    def time_ms(self, function, category="cpu_sample"):
        """Outermost spans of this function, summed."""
        return sum(s["dur"] for s in self.spans(category) if s["name"] == function and s["chain"].count(function) == 1) / 1e3


def is_near(value, want, share=0.35):
    return abs(value - want) <= share * want


def check_functions(trace, what):
    heavy, light = trace.time_ms("heavy"), trace.time_ms("light")
    report.check(f"{what}: time of heavy", is_near(heavy, ROUNDS * 3 * UNIT_MS), f"{heavy:.1f} ms")
    report.check(f"{what}: time of light", is_near(light, (ROUNDS + 2) * UNIT_MS), f"{light:.1f} ms")
    chains = collections.Counter(tuple(s["chain"]) for s in trace.spans("cpu_sample") if s["name"] == "heavy")
    best = chains.most_common(1)[0][0] if chains else ()
    report.equal(f"{what}: stack of heavy", best[-3:], ("main", "work", "heavy"))
    args = [s["args"] for s in trace.spans("cpu_sample") if s["name"] == "heavy"]
    report.equal(f"{what}: file", {pathlib.Path(a["file"]).name for a in args}, {"busy.c"})
    lines = collections.Counter(a["line"] for a in args)
    report.equal(f"{what}: line of heavy", lines.most_common(1)[0][0], line_of("HEAVY"))
    helper = [e for e in trace.events if e["ph"] == "M" and e["name"] == "thread_name" and
              e["args"]["name"] == "helper" and str(e["tid"]).endswith(" samples")]
    report.equal(f"{what}: the thread has a track", len(helper), 1)


def check_waits(trace, what, has_pointers=False):
    """libc has no frame pointers: by them, the function that called it is passed over."""
    waits = trace.spans("off_cpu")
    longest = {}
    for span in waits:  # nested spans of one wait are one wait
        longest.setdefault((span["tid"], span["ts"]), span["dur"])
    slept = [d for d in longest.values() if d > 15e3]
    report.check(f"{what}: the program slept three times, and waited for its thread", len(slept) >= ROUNDS + 1, str(slept))
    inner = "work" if has_pointers else "wait_here"
    places = [s["chain"] for s in waits if s["name"] == inner and s["dur"] > 15e3]
    wanted = ["main", "work", "wait_here"][:2 if has_pointers else 3]
    report.check(f"{what}: the stack of a wait", places and places[0][-len(wanted):] == wanted, str(places))
    for tid in {str(s["tid"]).split()[0] for s in waits}:
        busy = [(s["ts"], s["ts"] + s["dur"]) for s in trace.tracks["cpu_sample", f"{tid} samples"] if len(s["chain"]) == 1]
        off = sorted({(s["ts"], s["ts"] + s["dur"]) for s in trace.tracks["off_cpu", f"{tid} off-CPU"]})
        both = sum(max(0, min(b, d) - max(a, c)) for a, b in busy for c, d in off)
        report.check(f"{what}: samples and waits of a thread do not overlap", both < 0.01, f"{both} us")


def check_faults(trace, what):
    total = max([e["args"]["faults"] for e in trace.events if e["ph"] == "C" and e["name"] == "page faults"], default=0)
    report.check(f"{what}: page faults", PAGES * 0.8 <= total <= PAGES * 2, str(total))
    places = collections.Counter()
    for event in trace.events:
        if event.get("cat") == "page_fault":
            places[event["args"]["function"]] += event["args"]["faults"]
    report.check(f"{what}: most of them in one function", places["touch"] + places["main"] > PAGES / 2, str(places))


def check_commands(path):
    """The trace is one like every other."""
    done = common.run("check", path)
    report.check("kino check finds nothing wrong", done.returncode == 0, done.stdout.decode())
    done = common.run("convert", path, path.with_suffix(".folded"))
    report.equal("kino convert to stacks", done.returncode, 0)
    folded = path.with_suffix(".folded").read_text()
    report.check("stacks by function", re.search(r" samples;.*main;work;heavy\S* \d+$", folded, re.M), folded[:400])
    rows = common.query(path, "SELECT name, sum(dur) FROM event WHERE cat='cpu_sample' AND name='heavy' GROUP BY name")
    report.check("kino query", len(rows) == 1 and is_near(float(rows[0][1]) / 1e6, ROUNDS * 3 * UNIT_MS), str(rows))


def check_choice(folder, program, bare):
    """The program decides how its stacks are walked; what is incomplete is said and not summed."""
    how = {}
    for path, what, options in ((program, "with", ()), (bare, "without", ()), (bare, "forced", ("--stacks", "fp"))):
        _, err = record(folder / f"{what}.json", path, "once", options=options)
        sampling = json.loads((folder / f"{what}.json").read_text())["kino_sampling"]
        how[what] = sampling["stacks"]
        is_broken = sampling["broken"] * 10 > sampling["samples"]
        report.equal(f"{what} frame pointers: broken stacks ({sampling})", is_broken, what == "forced")
        report.equal(f"{what} frame pointers: the note", "stacks are incomplete" in err, what == "forced")
        totals = common.query(folder / f"{what}.json", "SELECT count(total) > 0 FROM functions WHERE function = 'main'")
        report.equal(f"{what} frame pointers: times with callees", [list(map(str, row)) for row in totals],
                     [["0" if what == "forced" else "1"]])
    report.equal("how stacks are walked", how, {"with": "frame pointers", "without": "copied", "forced": "frame pointers"})


def check_children(folder, program):
    code, err = record(f"{folder}/family/", "sh", "-c", f"{program} once; {program} once; exit 3")
    report.equal("the exit code is the program's", code, 3)
    found = [p for p in (folder / "family").glob("*") if p.name.startswith("busy")]
    report.check("each process has its trace", len(found) == 2, f"{sorted(p.name for p in (folder / 'family').glob('*'))} {err}")


def check_made_code(folder, program):
    record(folder / "jit.json", program, "once", "jit")
    trace = Trace(folder / "jit.json")
    took = trace.time_ms("jit::spin")
    for left in pathlib.Path("/tmp").glob("perf-*.map"):
        if "jit::spin" in left.read_text(errors="replace"):
            left.unlink()
    if os.uname().machine == "x86_64":
        report.check("made code is named by its perf map", is_near(took, 2 * UNIT_MS, 0.5), f"{took:.1f} ms")


def check_system(folder, program):
    _, err = record(folder / "system.json", program, "once", options=("--system", "--merge"))
    runs = [e for e in json.loads((folder / "system.json").read_text())["traceEvents"] if e.get("cat") == "cpu_run"]
    if "the whole machine is not recorded" in err:
        report.equal("no processors where they are refused", runs, [])
        skipped.append(next(line for line in err.splitlines() if "the whole machine is not recorded" in line))
        return
    took = sum(e["dur"] for e in runs if e["name"] in ("busy", "helper")) / 1e3
    report.check("--system: the program on its processors", took >= 6 * UNIT_MS * 0.9, f"{took:.1f} ms")
    for cpu in {e["tid"] for e in runs}:
        spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in runs if e["tid"] == cpu)
        bad = [b for a, b in zip(spans, spans[1:]) if b[0] < a[1] - 0.0015]
        report.equal(f"--system: one thread at a time on processor {cpu}", bad, [])


def check_gone(folder, program):
    copy = folder / "gone"
    shutil.copy(program, copy)
    _, err = record(folder / "gone.json", copy, "once", "unlink")
    names = {s["name"] for s in Trace(folder / "gone.json").spans("cpu_sample")}
    report.check("a file that is gone gives no names", "[gone]" in names and "heavy" not in names, str(names))
    report.check("and that is said", "no function names for" in err and "gone" in err, err)


def check_user(folder, program):
    """The same as nobody, if we are root: no names of the kernel, no stacks of waits, but all the rest."""
    if os.geteuid() != 0:
        return
    place = folder / "user"
    place.mkdir()
    os.chown(place, 65534, 65534)
    os.chmod(folder, 0o755)
    user = dict(user=65534, group=65534, extra_groups=[])
    try:
        subprocess.run([common.program(), "--version"], capture_output=True, check=True, cwd="/", **user)
    except (OSError, subprocess.CalledProcessError):
        skipped.append("a normal user: the program under test is not readable for nobody")
        return
    _, err = record(place / "user.json", program, options=("--stacks", "dwarf"), cwd=place, env={"HOME": str(place)}, **user)
    if not (place / "user.json").exists():
        report.check("a normal user", False, err)
        return
    trace = Trace(place / "user.json")
    check_functions(trace, "a normal user")
    check_waits(trace, "a normal user")
    paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if paranoid >= 2:
        report.check("what a normal user does not get is said", "perf_event_paranoid" in err, err)
        modules = {s["args"].get("module") for s in trace.spans("cpu_sample")}
        report.check("no kernel", "[kernel]" not in modules, str(modules))


def forbid(number):
    """A seccomp filter that answers perf_event_open with this errno."""
    calls = {"x86_64": 298, "aarch64": 241}
    def install():
        def one(code, jt, jf, k):
            return struct.pack("HBBI", code, jt, jf, k)
        rules = one(0x20, 0, 0, 0) + one(0x15, 0, 1, calls[os.uname().machine]) + one(6, 0, 0, 0x50000 | number) + \
            one(6, 0, 0, 0x7FFF0000)
        buffer = ctypes.create_string_buffer(rules)
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules) // 8, ctypes.addressof(buffer)))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
            os._exit(99)
    return install


def check_refusal(folder, program):
    for number, words in ((38, "perf_event_open is not available"), (1, "seccomp")):
        code, err = record(folder / f"refused-{number}.json", program, "once", preexec_fn=forbid(number))
        report.equal("the program runs all the same", code, 0)
        report.check(f"errno {number}: the reason is told", "no samples" in err and words in err, err)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_program(folder, "busy", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
        bare = compile_program(folder, "bare", "-O2", "-fomit-frame-pointer")
        if report.failures:
            return report.finish()
        code, err = record(folder / "busy.json", program)
        if "no samples" in err:
            common.skip(f"perf_event is refused here: {err.strip()}")
        report.equal("exit code", code, 0)
        for path, what, options in ((folder / "busy.json", "frame pointers", None),
                                    (folder / "bare.json", "copied stacks", ("--stacks", "dwarf"))):
            if options:
                record(path, bare, options=options)
            trace = Trace(path)
            check_functions(trace, what)
            check_waits(trace, what, has_pointers=not options)
            check_faults(trace, what)
            report.equal(f"{what}: nothing was lost", trace.loss, {})
        check_commands(folder / "busy.json")
        check_choice(folder, program, bare)
        check_children(folder, program)
        check_made_code(folder, program)
        check_system(folder, program)
        check_gone(folder, program)
        check_user(folder, program)
        check_refusal(folder, program)
    for reason in skipped:
        print(f"skipped: {reason}")
    return report.finish(len(skipped))


if __name__ == "__main__":
    sys.exit(main())
