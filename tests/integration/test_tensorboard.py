#!/usr/bin/env python3
"""TensorBoard from PyPI with the KINO tab, in a browser: a log folder of tensorboard_trace_handler and a run of several ranks. Needs build/notebook
(tools/install-notebook): with KINO_TIER=all only."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from support import common, notebook

# What the documentation of torch.profiler shows, on the CPU.
TRAIN = """
import sys, torch
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3), record_shapes=True,
                            on_trace_ready=torch.profiler.tensorboard_trace_handler(sys.argv[1])) as profiler:
    for _ in range(5):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.randn(32, 64)), torch.randint(10, (32,))).backward()
        optimizer.step()
        profiler.step()
"""


class Board(notebook.Program):
    def __init__(self, environment, logs, *options):
        super().__init__([notebook.VENV / "bin/tensorboard", "--logdir", str(logs), "--port", "0", "--load_fast", "false", *options],
                         r"at (http://localhost:\d+/\S*)", env=environment)
        self.url = self.found and self.found[1]

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read()

    def listing(self):
        """What TensorBoard says about the plugin, once it has looked."""
        return json.loads(self.get("data/plugins_listing")).get("kino")

    def engine(self):
        """The process behind the tab."""
        found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False).stdout
        return [int(line.split()[0]) for line in found.splitlines() if " serve --stop-on-eof " in line]


def make_logs(report, logs):
    """A run of PyTorch's own handler, and one of two ranks. Gives the name of the first."""
    (logs / "train").mkdir(parents=True)
    python, _ = common.torch_python()
    if python:
        done = subprocess.run([python, "-c", TRAIN, logs / "train"], capture_output=True, text=True, check=False, timeout=600)
        report.check("PyTorch writes a trace", done.returncode == 0 and list((logs / "train").glob("*.pt.trace.json")), done.stderr[-500:])
    else:
        print("NOT TESTED: no torch: a demo run stands for a trace of its handler")
        report.skipped += 1
        common.run("demo", logs / "made", "--ranks", "1", "--no-info", "--quiet")
        os.rename(logs / "made/rank-0.json", logs / "train/host_1.1700000000000.pt.trace.json")
    common.run("demo", logs / "ranks", "--ranks", "2", "--steps", "3", "--no-info", "--quiet")
    return logs / "train"


def check_pages(report, board, real):
    """The tab in Chromium: its pages say what the program says."""
    shown = notebook.browse(url=board.url + "#kino", pages=["overview", "timeline", "operators"], query=f"run={real.name}")
    if not report.check("the tab opens", "failed" not in shown, shown.get("failed", "")):
        return
    report.check("it is a tab of TensorBoard", "KINO" in shown["page"], shown["page"])
    report.check("its page is TensorBoard's", "/data/plugin/kino/ui/#/" in shown["frame"], shown["frame"])
    report.equal("nothing failed", shown["complaints"], [])
    done = common.run("analyze", "operators", real, "--format", "json", "--quiet")
    table = json.loads(done.stdout)["tables"][0]
    names = [row[[column["name"] for column in table["columns"]].index("name")] for row in table["rows"]]
    report.check("operators are those of the program", sum(name in shown["texts"]["operators"]["text"] for name in names[:5]) >= 3, str(names[:5]))
    report.check("the overview has the step", "Average step" in shown["texts"]["overview"]["text"], shown["texts"]["overview"]["text"][:200])
    report.check("the timeline is drawn", shown["texts"]["timeline"]["canvases"] > 0 and "thread" in shown["texts"]["timeline"]["text"],
                 shown["texts"]["timeline"]["text"][:200])


def check_real_run(report, board, real):
    """All of the trace that PyTorch's handler wrote comes through."""
    query = "run=train&wait=60"
    answer = json.loads(board.get(f"data/plugin/kino/ui/api/v1/info?{query}"))
    done = common.run("info", real, "--format", "json", "--quiet")
    report.equal("the same numbers as the program's", answer["input"]["events"], json.loads(done.stdout)["input"]["events"])
    runs = json.loads(board.get("data/plugin/kino/ui/api/v1/runs"))["runs"]
    report.equal("the runs of the log folder", [run["name"] for run in runs], ["ranks", "train"])


def check_end(report, board):
    engines = board.engine()
    if not report.check("one engine, a child of TensorBoard", len(engines) == 1, str(engines)):
        return
    watched = os.pidfd_open(engines[0])
    place = re.search(r"--socket\0([^\0]+)", pathlib.Path(f"/proc/{engines[0]}/cmdline").read_text())[1]
    report.check("it listens on its socket", os.path.exists(place), place)
    board.process.send_signal(signal.SIGKILL)
    report.check("it ends when TensorBoard is killed", common.wait_for_end(watched, 30))
    report.check("and takes its socket away", not os.path.exists(place))
    os.close(watched)


def main():
    notebook.need()
    report, begin = common.Report(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = notebook.environment(folder)
        real = make_logs(report, folder / "logs")
        with Board(environment, folder / "logs") as board:
            if report.check("TensorBoard starts", board.url, "".join(board.said)[-800:]):
                listed = board.listing()
                report.check("it has the tab", listed and listed["enabled"] and listed["tab_name"] == "KINO", str(listed))
                check_real_run(report, board, real)
                if notebook.can_browse(report):
                    check_pages(report, board, real)
                check_end(report, board)
        with Board(environment, folder / "logs", "--path_prefix", "/team/board") as board:
            page = board.get("data/plugin/kino/ui/")
            report.check("below a prefix", board.url.endswith("/team/board/") and b"<title>Kino" in page, board.url)
        (folder / "empty").mkdir()
        with Board(environment, folder / "empty") as board:
            report.equal("without traces the tab is not active", board.listing()["enabled"], False)
    print(f"{time.monotonic() - begin:.0f} s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
