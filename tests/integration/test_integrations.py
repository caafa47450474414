#!/usr/bin/env python3
"""kino.integrations: the examples of examples/profile as programs of their frameworks, and what they leave. The frameworks are in build/integrations
(tools/install-integrations): with KINO_TIER=all only; the server needs PyTorch alone. What is not installed is skipped, loudly."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

from support import common, with_torch

EXAMPLES = common.ROOT / "examples/profile"
INSTALLED = common.ROOT / "build/integrations/bin/python"
IS_ALL = os.environ.get("KINO_TIER") == "all"

with_torch.enter(__file__, str(INSTALLED) if IS_ALL and INSTALLED.exists() else None)

import importlib.util  # noqa: E402 (under the Python that has torch)

import kino  # noqa: E402


def run(*command, **more):
    env = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=120, env=env, **more)


def traces(folder):
    return sorted(path for path in pathlib.Path(folder).glob("*") if ".json" in path.name)


def counts(path, *names):
    """How often events of these names (LIKE) are in a trace."""
    with kino.open(path, progress=False) as opened:
        return [opened.query("SELECT count(*) AS n FROM event WHERE name LIKE ?", name)[0].n for name in names]


def example(report, name, folder, expected):
    """It ends, prints a report, and leaves so many traces with three steps of operators."""
    done = run(sys.executable, EXAMPLES / name, folder)
    report.check(f"{name} ends", done.returncode == 0, done.stderr[-1500:])
    report.check(f"{name}: the report", "Operators, by time on the host" in done.stdout and "aten::" in done.stdout, done.stdout[-800:])
    found = traces(folder)
    report.equal(f"{name}: traces", len(found), expected)
    return found


def check_lightning(report):
    for path in example(report, "lightning_trainer.py", "lightning", 1):
        report.equal("Lightning: three steps, their batches and the optimizer", counts(path, "ProfilerStep#%", "[pl][profile]run_training_batch", "Optimizer.step#SGD.step"), [3, 3, 3])


def check_transformers(report):
    for path in example(report, "transformers_trainer.py", "transformers", 2):
        steps, losses = counts(path, "ProfilerStep#%", "aten::mse_loss")
        report.equal("Trainer: two steps with a loss each, in each window", (steps, losses), (2, 2))


def check_accelerate(report):
    for path in example(report, "accelerate_loop.py", "accelerate", 1):
        report.equal("Accelerate: three backward passes", counts(path, "AddmmBackward0"), [3])


def check_pytest(report):
    plugin = ["-p", "kino.integrations.pytest_plugin", "-p", "no:cacheprovider", "-q"]

    def tested(*options):
        return run(sys.executable, "-m", "pytest", EXAMPLES / "test_speed.py", *plugin, *options)

    done = tested("--kino-save", "saved", "--kino-fail-on", "no-such-rule")
    report.check("pytest: the fixture records", done.returncode == 0, done.stdout[-1500:])
    saved = list(pathlib.Path("saved").glob("*.kino"))
    report.equal("pytest: a trace for the test", len(saved), 1)
    report.equal("pytest: with its steps' operators", counts(saved[0], "AddmmBackward0"), [3])
    done = tested("--kino-fail-on", "any")
    found = json.loads(run(os.environ["KINO"], "report", saved[0], "--format", "json").stdout)["recommendations"]
    report.equal("pytest: a recommendation fails the test, and without one it passes", done.returncode, 1 if found else 0)
    report.check("pytest: it is named", not found or f"kino:\n{found[0]['rule']}" in done.stdout, done.stdout[-1500:])
    done = tested("--kino-baseline", "base", "--kino-fail-on", "op:aten::addmm>0%")
    report.check("pytest: the first baseline is written", done.returncode == 0 and len(list(pathlib.Path("base").glob("*.kino"))) == 1, done.stdout[-1500:])
    done = tested("--kino-baseline", "base", "--kino-fail-on", "op:aten::addmm>100000%")
    report.check("pytest: not slower than that", done.returncode == 0, done.stdout[-1500:])
    done = tested("--kino-fail-on", "step_time>5%")
    report.check("pytest: a comparison needs a baseline", done.returncode != 0 and "--kino-baseline" in done.stdout + done.stderr, done.stdout[-800:])


CELLS = """
import sys
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_line_magic("load_ext", "kino")
shell.run_cell("import torch")
for line, cell in (("--shapes --memory", "y = torch.ones(4).add(1)"), ("--table 3 --save cell.json.gz", "z = torch.ones(4).mul(2)"), ("--nonsense", "1"), ("", "1 / 0")):
    print("==", line, flush=True)
    try:
        shell.run_cell_magic("kino", line, cell)
    except BaseException as error:
        print(type(error).__name__, error)
    if "kino_profile" in shell.user_ns:
        print("names", sorted({event.name for event in shell.user_ns["kino_profile"].events() if event.name in ("aten::add", "aten::mul")}))
print("values", shell.user_ns["y"].sum().item(), shell.user_ns["z"].sum().item())
"""


def check_ipython(report):
    done = run(sys.executable, "-c", CELLS)
    parts = re.split("^== ", done.stdout, flags=re.M)
    if not report.equal("IPython: all cells run", (done.returncode, len(parts)), (0, 5)):
        print(done.stdout[-1500:], done.stderr[-1500:])
        return
    report.check("%%kino shows the report", "Report" in parts[1] and "names ['aten::add']" in parts[1], parts[1][-600:])
    report.check("%%kino --table", "Self CPU time total" in parts[2] and "names ['aten::mul']" in parts[2], parts[2][-600:])
    report.equal("%%kino --save", counts("cell.json.gz", "aten::mul"), [1])
    report.check("a wrong option", "UsageError" in parts[3] and "--nonsense" in parts[3], parts[3][-400:])
    report.check("a cell that fails shows its error and no report", "ZeroDivisionError" in parts[4] and "Report" not in parts[4], parts[4][-600:])
    report.check("the cell's names are the shell's", "values 8.0 8.0" in parts[4], parts[4][-200:])


def check_distributed(report):
    done = run(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", EXAMPLES / "distributed.py", "ranks")
    report.check("torchrun: both ranks end", done.returncode == 0, done.stderr[-1500:])
    report.check("torchrun: one report of both", "Ranks: 2" in done.stdout or "2 ranks" in done.stdout, done.stdout[:800])
    with kino.open([str(path) for path in traces("ranks")], progress=False) as opened:
        report.equal("torchrun: ranks of the run", opened.ranks, [0, 1])
    for path in traces("ranks"):
        steps, collectives = counts(path, "ProfilerStep#%", "gloo:all_reduce%")
        report.check("torchrun: steps and collectives of each rank", steps == 3 and collectives >= 3, (steps, collectives))


def check_server(report):
    with subprocess.Popen([sys.executable, EXAMPLES / "server.py", "served"], stdout=subprocess.PIPE, text=True, preexec_fn=common.die_with_parent) as server:
        port = int(server.stdout.readline())

        def post(path):
            with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", method="POST"), timeout=120) as answer:
                return json.load(answer)

        answers = [post(path) for path in ("/stop_profile", "/generate", "/start_profile", "/start_profile")]
        post("/generate")
        post("/generate")
        first = post("/stop_profile")
        post("/generate")
        post("/start_profile")
        second = post("/stop_profile")
        server.kill()
    report.equal("a server: what start and stop answer", [answers[0], answers[2], answers[3]], [None, True, False])
    report.equal("a server: requests between start and stop, on its threads", counts(first, "aten::linear"), [2])
    report.check("a server: each time another trace", second != first and counts(second, "aten::linear") == [0], (first, second))


CHECKS = {"torch": [check_server], "lightning": [check_lightning], "transformers": [check_transformers], "accelerate": [check_accelerate], "pytest": [check_pytest],
          "IPython": [check_ipython]}


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for package, checks in CHECKS.items():
            if not IS_ALL and package != "torch":
                print(f"NOT TESTED: {package} (with KINO_TIER=all only)")
                continue
            if not importlib.util.find_spec(package):
                print(f"NOT TESTED: {package} is not installed (tools/install-integrations)")
                report.skipped += 1
                continue
            for check in checks:
                check(report)
        if IS_ALL:
            check_distributed(report)
        os.chdir("/")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
