#!/usr/bin/env python3
"""A real recording, made here: examples/train_small.py under the installed PyTorch gives a complete report.

TORCH_PYTHON names a Python that has torch (default: that of tools/install-torch, else this one); without one the test is
skipped."""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402


def record(folder):
    python, version = common.torch_python()
    if not python:
        common.skip("NOT TESTED: no PyTorch (tools/install-torch, or TORCH_PYTHON)")
    trace = folder / "trace.json"
    done = subprocess.run([python, common.ROOT / "examples/train_small.py", trace], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"examples/train_small.py: {done.stderr[-500:]}")
    return trace, version


def main():
    report = common.Report()
    common.program()
    with tempfile.TemporaryDirectory() as folder:
        trace, version = record(pathlib.Path(folder))
        print(f"torch {version}, {trace.stat().st_size} bytes")
        done = common.run("report", trace, "--format", "json", "--quiet")
        report.equal("exit code", done.returncode, 0)
        answer = json.loads(done.stdout)["report"]
        screen = common.run("report", trace, "--quiet").stdout.decode()
        print(screen)
    facts, step = answer["facts"], answer["step"]
    report.equal("devices", facts["devices"], "CPU only")
    report.check("three steps", facts["steps"].startswith("3 ("), facts["steps"])
    report.equal("recorded with", facts.get("profiler"), "shapes, stacks, memory, modules")
    report.check("a step takes time", step and step["time"] > 0, str(step))
    parts = {part["name"]: part["time"] for part in step["parts"]}
    report.equal("parts add up", sum(parts.values()), step["time"])
    report.check("most of it is operators", parts["CPU Exec"] > step["time"] // 4, str(parts))
    report.equal("nothing ran on a device", [parts[name] for name in ("Kernel", "Memcpy", "Memset", "Runtime")], [0] * 4)
    sections = {section["name"]: section for section in answer["sections"]}
    for name in ("operators", "memory", "modules", "steps"):
        report.check(f"section {name}", sections.get(name, {}).get("rows"), str(sections.get(name))[:200])
    operators = {row[0] for row in sections["operators"]["rows"]}
    report.check("operators of the model", {"aten::convolution_backward", "aten::addmm"} <= operators, str(operators))
    modules = {row[0].strip() for row in sections["modules"]["rows"]}
    report.check("modules of the model", any("Classifier" in name for name in modules), str(modules))
    report.check("no kernels are claimed", "kernels" not in sections)
    report.check("the paragraph", answer["summary"][0]["text"].startswith("A step takes "), str(answer["summary"]))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
