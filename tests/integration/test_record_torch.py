#!/usr/bin/env python3
"""kino record with PyTorch programs that know nothing of Kino: operators from the import of torch on, their shapes and memory by option, in
spawned ranks, in workers of a data loader, and under torchrun (KINO_TIER=all).

Needs PyTorch (TORCH_PYTHON, tools/install-torch, or this Python's); skipped without it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from support import common

PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"
STEPS = 5
TRAIN = """
import os, sys
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.ones(3).cumsum(0)

def train(rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    weight = torch.ones(4, 3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    list(DataLoader(Samples(), num_workers=1, multiprocessing_context="fork")) if rank == 0 else None
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.mm(torch.ones(2, 4), weight).sum().backward()
        optimizer.step()
    dist.barrier()
    os._exit(0)

if __name__ == "__main__":
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.multiprocessing.spawn(train, args=(port,), nprocs=2)
    print("trained")
""".replace("STEPS", str(STEPS))


def record(python, folder, *words, options=()):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINO_PROGRAM": common.program(), "OMP_NUM_THREADS": "1"}
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        environment.pop(name, None)
    return subprocess.run([common.program(), "record", "--quiet", "--sampling", "off", *options, "-o", f"{folder}/", "--", python, *map(str, words)],
                          env=environment, capture_output=True, text=True, timeout=240, check=False, stdin=subprocess.DEVNULL)


def counts(path, where):
    return dict(common.query(path, f"SELECT name, count(*) FROM event WHERE {where} GROUP BY name"))


def check_ranks(report, folder):
    """Two ranks that the program itself gave numbers to, their launcher, and a worker: each has its trace."""
    files = {path.name.split("-")[0]: path for path in folder.glob("*")}
    report.check("ranks are in the names of files", {"rank0", "rank1"} <= set(files), list(files))
    info = json.loads(common.run("info", folder, "--format", "json", "--quiet").stdout)
    table = next(table for table in info["tables"] if table["name"] == "traces")
    names = [column["name"] for column in table["columns"]]
    ranks = [dict(zip(names, row))["rank"] for row in table["rows"]]
    report.equal("the traces know their ranks", sorted(rank for rank in ranks if rank is not None), [0, 1])
    for rank in ("rank0", "rank1"):
        found = counts(files[rank], "cat = 'cpu_op' AND name = 'aten::mm'")
        report.equal(f"{rank}: operators of the steps, forward and backward", found, {"aten::mm": 2 * STEPS})
        steps = counts(files[rank], "name LIKE 'Optimizer.step%'")
        report.equal(f"{rank}: steps of the optimizer", steps, {"Optimizer.step#SGD.step": STEPS})
    return files


def check_options(report, files):
    args = [row[0] for row in common.query(files["rank1"], "SELECT args FROM event WHERE name = 'aten::mm' ORDER BY ts LIMIT 1")]
    report.equal("shapes by option", [found.get("Input Dims") for found in args], [[[2, 4], [4, 3]]])
    report.check("memory by option", counts(files["rank1"], "name = '[memory]'").get("[memory]", 0) > STEPS)


def check_workers(report, folder):
    found = [counts(path, "name = 'aten::cumsum'").get("aten::cumsum", 0) for path in folder.glob("*")]
    report.equal("the worker of the data loader has its own trace", [count for count in found if count], [4])


def check_torchrun(report, python, folder):
    script = common.ROOT / "tests/integration/support/torchrun_train.py"
    done = record(python, folder, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script, STEPS, "0.05")
    report.equal("torchrun", done.returncode, 0)
    names = sorted(path.name.split("-")[0] for path in folder.glob("rank*"))
    report.equal("torchrun: one file for each rank", names, ["rank0", "rank1"])
    for path in folder.glob("rank*"):
        report.check(f"torchrun: operators of {path.name}", counts(path, "cat = 'cpu_op'").get("aten::addmm", 0) >= STEPS)


KILLED = """
import os, signal, torch
def planted():
    return torch.ones(2, 4) @ torch.ones(4, 3)
for _ in range(7):
    planted()
os.kill(os.getpid(), signal.SIGKILL)
"""


def check_killed(report, python, folder):
    """kill -9: operators and Python functions are there. (The import alone has more calls than fit into the default buffer.)"""
    script = folder / "killed.py"
    script.write_text(KILLED, encoding="utf-8")
    done = record(python, folder / "killed", script, options=["--python", "operators,functions", "--buffer", "256MiB"])
    report.equal("kill -9: the signal is the program's", done.returncode, -9)
    found = [(counts(path, "name = 'aten::matmul'").get("aten::matmul"), sum(counts(path, "name LIKE '%): planted'").values()))
             for path in (folder / "killed").glob("*")]
    report.equal("kill -9: operators and Python functions", found, [(7, 7)])


def main():
    report = common.Report()
    python, version = common.torch_python()
    if not python or not (PACKAGE / "kino").is_dir():
        common.skip("NOT TESTED: no PyTorch (tools/install-torch, or TORCH_PYTHON), or the Python package is not built")
    print(f"PyTorch {version}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "train.py").write_text(TRAIN, encoding="utf-8")
        done = record(python, folder / "out", folder / "train.py", options=["--python", "operators,shapes,memory"])
        if report.equal("the program runs as without the recorder", (done.returncode, done.stdout), (0, "trained\n")):
            files = check_ranks(report, folder / "out")
            check_options(report, files)
            check_workers(report, folder / "out")
        else:
            print(done.stderr[-2000:])
        if os.environ.get("KINO_TIER") == "all":
            check_torchrun(report, python, folder / "torchrun")
            check_killed(report, python, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
