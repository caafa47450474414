#!/usr/bin/env python3
"""The example notebooks, executed by nbclient: what their cells show. The UI in a frame of a page of Jupyter, in a browser: directly, and through
jupyter-server-proxy. Needs build/notebook (tools/install-notebook): with KINO_TIER=all only."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from support import common, notebook

EXAMPLES = sorted((common.ROOT / "examples/notebooks").glob("*.ipynb"))
EXECUTE = """
import json, sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], 4)
nbformat.validate(book)
try:
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
except nbclient.exceptions.CellExecutionError as error:
    sys.exit(str(error)[-2000:])
print(json.dumps(book))
"""
# A process that serves a run as a notebook's kernel does, and says what a cell would show.
KERNEL = """
import json, sys, kino
direct, proxied = (kino.open("demo-run").show("timeline", proxy=proxy) for proxy in ("", "/proxy/{port}/"))
print(json.dumps([direct._repr_html_(), proxied._repr_html_()]), flush=True)
sys.stdin.read()
"""


def texts(cell, kind):
    """What a cell shows as this type."""
    return ["".join(output.get("data", {}).get(kind, "")) for output in cell.get("outputs", []) if kind in output.get("data", {})]


def check_stored(report, path):
    cells = json.loads(path.read_text())["cells"]
    report.check(f"{path.name}: no outputs are stored", not any(cell.get("outputs") or cell.get("execution_count") for cell in cells))


def check_executed(report, path, environment, folder):
    done = subprocess.run([notebook.VENV / "bin/python", "-c", EXECUTE, path], capture_output=True, text=True, check=False, timeout=600, env=environment, cwd=folder)
    if not report.check(f"{path.name} runs", done.returncode == 0, done.stderr[-2000:]):
        return
    cells = [cell for cell in json.loads(done.stdout)["cells"] if cell["cell_type"] == "code"]
    markup = [text for cell in cells for text in texts(cell, "text/html")]
    report.check(f"{path.name}: the run shows a summary", any("<strong>kino.Run</strong>" in text and "rank-0.json" in text for text in markup))
    report.check(f"{path.name}: a table", any("<table>" in text and "<th title=" in text for text in markup))
    report.check(f"{path.name}: a plot", any(texts(cell, "image/png") for cell in cells))
    if "report()" in path.read_text():
        report.check(f"{path.name}: the report", any(text.startswith("<iframe srcdoc=") and "Step time" in text for text in markup))
    if ".show(" in path.read_text():
        report.check(f"{path.name}: the web UI", any(re.search(r'<iframe src="http://127\.0\.0\.1:\d+/#/timeline"', text) for text in markup))
    engines = subprocess.run(["pgrep", "-f", f"serve --stop-on-eof.*{folder}"], capture_output=True, text=True, check=False).stdout
    report.equal(f"{path.name}: no server is left", engines, "")


class Jupyter(notebook.Program):
    def __init__(self, environment, folder):
        super().__init__([notebook.VENV / "bin/jupyter", "server", "--no-browser", "--port", "0", "--allow-root", f"--ServerApp.root_dir={folder}"],
                         r"http://[^:/]+:(\d+)/\S*\?token=(\w+)", cwd=folder, env={**environment, "HOME": str(folder)})
        self.port, self.token = (int(self.found[1]), self.found[2]) if self.found else (None, None)


def check_frames(report, environment, folder):
    common.run("demo", folder / "demo-run", "--ranks", "2", "--steps", "3", "--no-info", "--quiet")
    with Jupyter(environment, folder) as jupyter, subprocess.Popen([notebook.VENV / "bin/python", "-c", KERNEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                                    text=True, cwd=folder, env=environment) as kernel:
        if not report.check("Jupyter starts", jupyter.port):
            return
        for name, markup in zip(("directly", "through jupyter-server-proxy"), json.loads(kernel.stdout.readline())):
            # localhost and 127.0.0.1 are different sites for a browser: the harder case for a frame.
            place = f"http://localhost:{jupyter.port}"
            shown = notebook.browse(first=f"{place}/login?token={jupyter.token}", url=f"{place}/login", markup=markup, pages=["timeline", "operators"])
            if not report.check(f"{name}: the frame shows the UI", "failed" not in shown, shown.get("failed", "")):
                continue
            report.equal(f"{name}: nothing failed", shown["complaints"], [])
            report.check(f"{name}: where it should", ("/proxy/" in shown["frame"]) == ("proxy" in name), shown["frame"])
            report.check(f"{name}: the timeline is drawn", shown["texts"]["timeline"]["canvases"] > 0 and "Rank 0" in shown["texts"]["timeline"]["text"])
            report.check(f"{name}: operators", "aten::" in shown["texts"]["operators"]["text"])
        kernel.stdin.close()


def main():
    report, begin = common.Report(), time.monotonic()
    report.check("three notebooks", len(EXAMPLES) == 3, str(EXAMPLES))
    for path in EXAMPLES:
        check_stored(report, path)
    notebook.need()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = notebook.environment(folder)
        for path in EXAMPLES:
            place = folder / path.stem
            place.mkdir()
            check_executed(report, path, environment, place)
        if notebook.can_browse(report):
            check_frames(report, environment, folder)
    print(f"{time.monotonic() - begin:.0f} s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
