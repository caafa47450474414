#!/usr/bin/env python3
"""The templates of packaging/slurm under Slurm itself, started by hand on this machine: munged, slurmctld, slurmd. With KINO_TIER=all only.
An array of jobs summarizes a run in parts, a job that waits for it reports; the report is that of one process, byte for byte. One job runs
kino-mpi. And the template for Kubernetes has the commands that kino has."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from support import cluster, common

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo")
TEMPLATES = common.ROOT / "packaging/slurm"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def configuration(top, host):
    return f"""ClusterName=kino
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={top}/socket
CredType=cred/munge
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd.pid
SlurmctldLogFile={top}/slurmctld.log
SlurmdLogFile={top}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
MailProg=/bin/true
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
"""


def call(*command, seconds=60, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, timeout=seconds, check=False, **options)


def stop(pid):
    """And waits until it has written what it writes at its end."""
    end = time.monotonic() + 20
    os.kill(pid, signal.SIGTERM)
    while time.monotonic() < end:
        os.kill(pid, 0)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def slurm(top):
    """The environment in which sbatch works; None where it does not."""
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool"):
        (top / name).mkdir()
    (top / "key").write_bytes(os.urandom(1024))
    (top / "key").chmod(0o400)
    (top / "slurm.conf").write_text(configuration(top, host))
    environment = dict(os.environ, **cluster.ENV, SLURM_CONF=str(top / "slurm.conf"))
    environment["PATH"] = f"{pathlib.Path(common.program()).resolve().parent}:{environment['PATH']}"
    try:
        call("munged", "--force", f"--key-file={top}/key", f"--socket={top}/socket", f"--pid-file={top}/munged.pid",
             f"--log-file={top}/munged.log", f"--seed-file={top}/seed")
        call("slurmctld", "-c", "-f", top / "slurm.conf", env=environment)
        call("slurmd", "-f", top / "slurm.conf", "-N", host, env=environment)
        end = time.monotonic() + 60
        while (state := call("sinfo", "-h", "-o", "%t", env=environment).stdout.strip()) != b"idle" and time.monotonic() < end:
            time.sleep(0.2)
        yield environment if state == b"idle" else None
    finally:
        for name in ("slurmd", "slurmctld", "munged"):
            with contextlib.suppress(OSError, ValueError):
                stop(int((top / f"{name}.pid").read_text()))


def check_array(report, top, run, environment):
    done = call("sbatch", "--wait", "--array=1-4", "--cpus-per-task=1", f"--output={top}/array-%a.log", TEMPLATES / "kino-summarize.sbatch", run, top / "parts",
                seconds=300, env=environment)
    said = b"".join(path.read_bytes() for path in sorted(top.glob("array-*.log")))
    report.check("an array of jobs summarizes", done.returncode == 0 and len(list((top / "parts").glob("*.summary"))) == 4, f"{done} {said}")
    done = call("sbatch", "--wait", "--dependency=singleton", "--cpus-per-task=1", f"--output={top}/report.log", TEMPLATES / "kino-report.sbatch",
                top / "parts", top / "report.json", "--require-all", seconds=300, env=environment)
    want = common.run("report", run, "--format", "json", "--quiet").stdout
    made = (top / "report.json").read_bytes() if (top / "report.json").exists() else b""
    report.check("a job reports as one process does", done.returncode == 0 and made == want, f"{done} {(top / 'report.log').read_bytes()[-300:]}")


def check_mpi(report, top, run, environment):
    """Returns how many are skipped."""
    reason = cluster.why_not()
    if reason:
        print(f"NOT TESTED: kino-mpi.sbatch: {reason}")
        return 1
    done = call("sbatch", "--wait", f"--output={top}/mpi.log", TEMPLATES / "kino-mpi.sbatch", run, top / "mpi.json", seconds=300, env=environment)
    want = common.run("report", run, "--format", "json", "--quiet").stdout
    made = (top / "mpi.json").read_bytes() if (top / "mpi.json").exists() else b""
    report.check("a job runs kino-mpi", done.returncode == 0 and made == want, f"{done} {(top / 'mpi.log').read_bytes()[-500:]}")
    return 0


def check_kubernetes(report, top, run):
    """Each command line of the template, on this machine: with its directory, an index for each pod."""
    text = (common.ROOT / "packaging/kubernetes/kino-summarize.yaml").read_text()
    lines = re.findall(r"exec (kino [^\n\]]*?)(?:\"\])?$", text, re.M)
    report.check("the template has two commands", len(lines) == 2, lines)
    root = top / "volume"
    (root / "summaries").mkdir(parents=True)
    (root / "run").symlink_to(run)
    environment = dict(os.environ, PATH=f"{pathlib.Path(common.program()).resolve().parent}:{os.environ['PATH']}")
    for line, indexes in zip(lines, (range(8), range(1))):
        for index in indexes:
            done = call("sh", "-c", line.replace("/traces/", f"{root}/"), env=dict(environment, JOB_COMPLETION_INDEX=str(index)))
            report.check(f"{line.split()[1]} of the template, pod {index}", done.returncode == 0, done)
    report.check("the template makes a report", (root / "report.html").exists())


def main():
    if os.environ.get("KINO_TIER") != "all":
        print("NOT TESTED: Slurm (with KINO_TIER=all only)")
        return 77
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or os.geteuid():
        print(f"NOT TESTED: Slurm: {'not installed: ' + ', '.join(missing) if missing else 'needs root'}")
        return 77
    report, skipped = common.Report(), 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as top:
        top = pathlib.Path(top)
        top.chmod(0o755)
        common.run("demo", top / "run", "--ranks", "6", "--steps", "2", "--size", "100kB", "--no-info")
        check_kubernetes(report, top, top / "run")
        with slurm(top) as environment:
            if environment is None:
                print("NOT TESTED: Slurm does not start here: " + (top / "slurmctld.log").read_text()[-500:])
                skipped += 1
            else:
                check_array(report, top, top / "run", environment)
                skipped += check_mpi(report, top, top / "run", environment)
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
