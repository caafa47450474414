#!/usr/bin/env python3
"""A run analyzed in three ways gives the same bytes: by one process, from summaries, and by kino-mpi: every analysis, report and check.
A broken rank is named alike; a killed process ends all, with an error and without an answer. What the processes send each other is what
bench/scale.py works out: each message, each byte."""
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from support import cluster, common

RANKS, PROCESSES = 64, 8


def names():
    table = json.loads(common.run("analyze", "--list", "--format", "json").stdout)["tables"][0]
    return [row[0] for row in table["rows"]]


def write_run(folder, ranks, *more):
    done = common.run("demo", folder, "--ranks", ranks, "--steps", "2", "--size", "60kB", "--no-info", *more)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())


def summarize(folder, parts, out, *more):
    for part in range(1, parts + 1):
        done = common.run("summarize", folder, "--part", f"{part}/{parts}", "-o", out / f"{part}.summary", *more)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
    return sorted(out.glob("*.summary"))


def same(report, what, want, got):
    """want: of one process; got: (exit code, output) of another way."""
    is_same = want.returncode == got[0] and want.stdout == got[1]
    report.check(what, is_same, f"exit {got[0]}, {len(got[1])} bytes for {len(want.stdout)}: {got[2][-300:].decode('utf-8', 'replace')}")


def three_ways(report, what, folder, summaries, command, processes, *options):
    want = common.run(*command, folder, *options)
    other = common.run(*command, *summaries, *options)
    same(report, f"{what} from summaries", want, (other.returncode, other.stdout, other.stderr))
    same(report, f"{what} by kino-mpi", want, cluster.run(processes, *command, folder, *options))
    return want, other


def check_report(report, folder, out):
    summaries = summarize(folder, 5, out, "--full")
    three_ways(report, "report of 64 ranks", folder, summaries, ("report",), PROCESSES)
    three_ways(report, "report of 64 ranks as JSON", folder, summaries, ("report",), PROCESSES, "--format", "json")
    three_ways(report, "complete report of 64 ranks", folder, summaries, ("report", "--full"), 3, "--format", "json")
    three_ways(report, "check of 64 ranks", folder, summaries, ("check",), PROCESSES, "--format", "json")


def check_analyses(report, folder, out):
    """Every analysis of the list, whoever adds one."""
    summaries = summarize(folder, 3, out, "--analyses", "all")
    for name in names():
        three_ways(report, name, folder, summaries, ("analyze", name), 3, "--format", "json", "--quiet")


def check_broken(report, folder, out):
    """In all three ways the same lines, also on standard error; with --require-all the same error."""
    (folder / "rank-1.json").write_text("not a trace\n")
    summaries = summarize(folder, 3, out)
    want, other = three_ways(report, "report with a broken rank", folder, summaries, ("report", "--format", "json"), 4)
    code, _, err = cluster.run(4, "report", folder)
    report.check("a broken rank is named", b"rank-1.json': left out" in want.stderr and b"rank-1.json': left out" in want.stdout, want.stderr)
    report.check("it is named alike", code == 0 and want.stderr == other.stderr == err, f"{other.stderr} {err}")
    for strict in (common.run("report", folder, "--require-all"), common.run("report", *summaries, "--require-all")):
        report.check("--require-all refuses it", strict.returncode == 1 and b"rank-1.json': left out" in strict.stderr and not strict.stdout)
    code, answer, err = cluster.run(4, "report", folder, "--require-all")
    report.check("kino-mpi --require-all refuses it", code == 1 and b"rank-1.json': left out" in err and not answer, err)


def check_views(report, folder):
    """Processes that see different files: each takes its own; one that sees none is named."""
    for rank in range(4):
        own = folder / f"host-{rank % 2}"
        own.mkdir(exist_ok=True)
        (folder / f"rank-{rank}.json").rename(own / f"rank-{rank}.json")
    here = folder / "here"
    here.mkdir()
    script = f'mkdir -p view-$OMPI_COMM_WORLD_RANK; cd view-$OMPI_COMM_WORLD_RANK; rm -f run; ' \
             f'[ "$OMPI_COMM_WORLD_RANK" = "$BLIND" ] || ln -sfn ../../host-$((OMPI_COMM_WORLD_RANK % 2)) run; exec "$0" "$@"'
    for blind, processes in (("none", 4), ("3", 4)):
        child = subprocess.Popen(["mpirun", "-n", str(processes), "bash", "-c", script, str(cluster.program()), "analyze", "kernels",
                                  "run", "--format", "csv"], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=dict(os.environ, **cluster.ENV, BLIND=blind), start_new_session=True)
        code, out, err = cluster.finish(child, 120)
        ranks = {line.split(b",")[0] for line in out.splitlines()[1:]}
        report.check(f"each process takes the files it sees, blind: {blind}", code == 0 and ranks == {b"0", b"1", b"2", b"3"}, f"{code} {ranks} {err}")
        if blind != "none":
            report.check("a process without files is named", b"process 3 has no traces" in err, err)


def workers_of(launcher):
    return sorted(pid for pid, name in cluster.session(launcher) if name == "kino-mpi")


def check_killed(report, folder, times):
    """A worker is stopped, so that it cannot finish, and killed. All end, and nothing is answered."""
    for turn in range(times):
        child = cluster.start(4, "analyze", "critical-path", folder, "--timeout", "60")
        end = time.monotonic() + 60
        while len(workers := workers_of(child.pid)) < 4 and child.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        victim = workers[turn % len(workers)] if workers else 0
        for number in (signal.SIGSTOP, signal.SIGKILL):
            try:
                os.kill(victim, number)
            except (ProcessLookupError, PermissionError):
                victim = 0
            time.sleep(0.01 * (turn % 5))
        code, out, err = cluster.finish(child, 90)
        if victim == 0 and code == 0:
            continue  # it was faster
        report.check("a killed process ends all with an error", code not in (0, None) and not out and err.strip(), f"turn {turn}: {code} {out[:100]} {err[-200:]}")


def stop_one(folder):
    """(have all processes of kino-mpi ended, the exit code of mpirun, its output, its errors) after one of them was stopped."""
    child = cluster.start(2, "report", folder, "--timeout", "3")
    end = time.monotonic() + 60
    while len(workers := workers_of(child.pid)) < 2 and child.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    if workers:
        os.kill(workers[-1], signal.SIGSTOP)
    end = time.monotonic() + 60
    while (left := workers_of(child.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    return (not left, *cluster.finish(child, 30))


def check_stopped(report, folder):
    """A process that does not go on: the others say so and end all. mpirun itself may hang when they end while they connect: once more."""
    for _ in range(2):
        have_ended, code, out, err = stop_one(folder)
        if code is not None or not have_ended:
            break
        print("mpirun did not end after all of its processes had: once more")
    report.check("no process is left when one stops", have_ended)
    report.check("a process that stops is given up", code not in (0, None) and not out and (b"no answer from process" in err or b"no connection to the other" in err), f"{code} {err}")


def load_model():
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("scale", common.ROOT / "bench/scale.py"))
    spec.loader.exec_module(module)
    return module


def check_traffic(report, folder, counts):
    model, build = load_model(), cluster.program().parent
    for count in counts:
        want = model.traffic(model.measure(build, folder, count))
        code, _, err = cluster.run(count, "report", folder, "--jobs", "1", "--costs", "--quiet")
        got = model.costs_of(err.decode())
        report.equal(f"messages and bytes of {count} processes", (code, [got.get(i, ())[:2] for i in range(count)]), (0, want))


def check_usage(report, folder):
    for arguments, message in ((("query", folder, "SELECT 1"), b"kino-mpi has the commands report, analyze and check"),
                               (("report", folder, "--timeout", "x"), b"--timeout"),
                               (("analyze", "nothing", folder), b"unknown analysis")):
        code, out, err = cluster.run(2, *arguments)
        report.check(f"usage: {arguments[0]}", code == 2 and not out and err.count(message) == 1, f"{code} {err}")
    code, _, err = cluster.run(2, "report", folder / "missing")
    report.check("a missing directory", code == 1 and b"missing" in err, err)


def main():
    reason = cluster.why_not()
    if reason:
        print(f"NOT TESTED: kino-mpi: {reason}")
        return 77
    report = common.Report()
    with tempfile.TemporaryDirectory() as top:
        top = pathlib.Path(top)
        for name in ("a", "b", "c"):
            (top / name).mkdir()
        write_run(top / "many", RANKS)
        write_run(top / "few", 4)
        write_run(top / "broken", 4)
        write_run(top / "apart", 4)
        check_report(report, top / "many", top / "a")
        check_analyses(report, top / "few", top / "b")
        check_broken(report, top / "broken", top / "c")
        check_views(report, top / "apart")
        check_traffic(report, top / "many", (1, 2, 4, 8, 16, 64) if os.environ.get("KINO_TIER") == "all" else (1, 3, 8))
        check_usage(report, top / "few")
        check_killed(report, top / "many", 50 if os.environ.get("KINO_TIER") == "all" else 3)
        check_stopped(report, top / "many")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
