"""kino-mpi under mpirun on this machine: as root in a container too, on loopback alone, and never without an end: who waits for a
command ends it with everything that it has started."""
import os
import pathlib
import shutil
import signal
import subprocess

from support import common

ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_plm": "isolated",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
       "PMIX_MCA_gds": "hash"}


def program():
    """kino-mpi of this build, or None."""
    path = pathlib.Path(common.program()).resolve().parent / "kino-mpi"
    return path if path.is_file() else None


def why_not():
    """Why there can be no test, or None."""
    if program() is None:
        return "kino-mpi is not built: no MPI (libopenmpi-dev)"
    if shutil.which("mpirun") is None:
        return "mpirun is not installed (openmpi-bin)"
    return None


def command(processes, *arguments):
    return ["mpirun", "-n", str(processes), str(program()), *map(str, arguments)]


def start(processes, *arguments, **options):
    """A process group of its own, for end()."""
    return subprocess.Popen(command(processes, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                            env=dict(os.environ, **ENV), start_new_session=True, **options)


def session(leader):
    """The processes of a session, whatever their groups: (pid, name)."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            if int(words[3]) == leader:
                yield int(entry.name), (entry / "comm").read_text().strip()
        except (OSError, IndexError, ValueError):
            continue  # not a process, or not any more


def end(child):
    for pid, _ in session(child.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def finish(child, seconds):
    """(exit code, standard output, standard error); the exit code is None where it had to be ended."""
    try:
        out, err = child.communicate(timeout=seconds)
        return child.returncode, out, err
    except subprocess.TimeoutExpired:
        end(child)
        out, err = child.communicate()
        return None, out, err
    finally:
        end(child)


def run(processes, *arguments, seconds=240):
    return finish(start(processes, *arguments), seconds)
