#!/usr/bin/env python3
"""kino record must not be in the way: programs that end by pthread_exit, filter their system calls, or do what only
processes with one thread may do behave as they do without it. Each is run plainly first; that says what is right."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder  # noqa: E402

SOURCES = pathlib.Path(__file__).resolve().parent / "record"
LIMIT = 30  # seconds; only what hangs comes near
report = common.Report()
BEFORE = {path.name for path in pathlib.Path("/dev/shm").glob("kino-record-*")}  # what others have left


def execute(*command, env=None):
    """Exit code (None: it did not end) and output. What hangs is killed with all that it started."""
    run = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                           start_new_session=True, text=True, env=dict(os.environ, **(env or {})))
    try:
        out, err = run.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        subprocess.run(["kill", "-9", "--", f"-{run.pid}"], check=False)
        run.communicate()
        return None, "", ""
    return run.returncode, out, err


def recorded(folder, program, *arguments, options=(), env=None):
    path = folder / "trace.json"
    path.unlink(missing_ok=True)
    code, out, err = execute(common.program(), "record", "--sampling", "off", *options, "-o", path, "--", program, *arguments, env=env)
    spans = recorder.Trace(path).spans if path.exists() else []
    return code, out, err, spans


def check(folder, program, arguments, wanted, options=(), env=None):
    """The same end and output with and without the recorder; `wanted` are the ranges of the trace."""
    what = " ".join((*arguments, *options, *(env or ())))
    plain = execute(program, *arguments)[:2]
    if plain[0] == 77:
        print(f"skipped: {what}: the system does not allow the filter")
        return
    code, out, err, spans = recorded(folder, program, *arguments, options=options, env=env)
    report.equal(f"{what}: ends and answers as without kino record", (code, out), plain)
    names = sorted(e["name"] for e in spans if e["cat"] == "user_annotation")
    report.equal(f"{what}: what was recorded", names, sorted(wanted))
    report.check(f"{what}: no process is left behind", set(re.findall(r"kino-record-\w+", err)) <= BEFORE, err)


def check_clock(folder, program):
    """A process that is killed has no end of its clock: its times are right all the same."""
    code, out, _, spans = recorded(folder, program, "killed")
    report.equal("killed: by its signal", code, -9)
    least, most = map(int, out.split())
    found = [recorder.ns(e["dur"]) for e in spans if e["name"] == "measured"]
    report.check("killed: the length of a range, to a few millionths",
                 len(found) == 1 and least * 0.99999 <= found[0] <= most * 1.00001, (least, found, most))


def compile_guest(folder, name, *more):
    done = recorder.execute(recorder.compiler(), "-O1", "-g", "-std=gnu11", f"-I{common.ROOT / 'src'}",
                            f"-I{common.ROOT / 'include'}", SOURCES / "guest.c", "-o", folder / name, *more, "-ldl", "-lpthread")
    report.equal(f"{name} compiles", (done.returncode, done.stderr), (0, ""))
    return folder / name


def check_listening(folder, program):
    """Processes that also listen to a daemon and to a signal, and one that is being traced on request: these threads give way as well."""
    listening = {"KINO_SIGNAL": "SIGUSR2", "KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": str(folder)}
    asked = {"KINO_REQUEST": f"ACTIVITIES_LOG_FILE={folder}/never.json;KINO_START_DELAY_MSECS=3600000;ACTIVITIES_DURATION_MSECS=50"}
    for env in (listening, asked):
        for how in ("libc", "raw"):
            check(folder, program, ("unshare", how), ["before", "after"], env=env)
        check(folder, program, ("setns",), ["before"], env=env)
        check(folder, program, ("filter", "prctl"), ["before", "inside", "thread inside"], env=env)


def check_libkino(folder):
    """Programs that have libkino in them: its threads end with the others, its descriptors are not mistaken."""
    libraries = recorder.library("libkino.so").parent
    program = compile_guest(folder, "with_kino", "-DWITH_KINO", f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lkino")
    listening = {"KINO_SIGNAL": "SIGUSR2", "KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": str(folder), "KINO_REQUEST":
                 f"ACTIVITIES_LOG_FILE={folder}/asked.json;KINO_START_DELAY_MSECS=100;KINO_WARMUP_MSECS=0;ACTIVITIES_DURATION_MSECS=50"}
    for what, env in (("recording", {}), ("listening", listening)):
        path = folder / f"{what}.json"
        report.equal(f"session, {what}: ends", execute(program, "session", path, env=env), (0, "", ""))
        names = [e["name"] for e in recorder.Trace(path).spans] if path.exists() else []
        report.check(f"session, {what}: was written", "zone" in names, names)
    wanted = (0, "closed: 0, read: 1 120\nthen: -1 1\n", "")
    report.equal("descriptors: the program's own", execute(folder / "guest", "descriptors", env={"KINO_SIGNAL": ""})[0], -12)
    report.equal("descriptors: nobody else uses them", execute(program, "descriptors", env=listening), wanted)
    report.check("descriptors: requests go on", any(folder.glob("asked*.json")), list(folder.iterdir()))


def main():
    recorder.library("libkino_inject.so")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = compile_guest(folder, "guest")
        check(folder, program, ("leave",), ["main", "worker"])
        check(folder, program, ("leave",), ["main", "worker"], ("--duration", "3600"))
        for how in ("prctl", "syscall", "tsync"):
            check(folder, program, ("filter", how), ["before", "inside", "thread inside"])
        check(folder, program, ("exec",), [])
        check(folder, program, ("strict",), ["before"])
        for more in ((), ("--duration", "3600")):
            for how in ("libc", "raw"):
                check(folder, program, ("unshare", how), ["before", "after"], more)
                check(folder, program, ("quiet", "unshare", how), [], more)
            check(folder, program, ("setns",), ["before"], more)
        check_listening(folder, program)
        check_clock(folder, program)
        check_libkino(folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
