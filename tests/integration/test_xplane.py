#!/usr/bin/env python3
"""XPlane files of JAX, TensorFlow and PyTorch/XLA: the samples' counted facts, planes made by hand for what no sample has, a recording
of JAX itself where it is installed, and damaged or hostile files."""
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

from support import common
from support.protobuf import data, uint
from support.xplane_file import Plane

FORMATS = common.ROOT.parent / "shared/formats/xplane"
CPU_S = 20


def info(path):
    return common.parse(common.run("info", path, "--format", "json", "--quiet").stdout)


def one(path, sql):
    return common.query(path, sql)[0]


# -- facts that were counted by others

def test_samples(report):
    """../shared/formats/xplane/README.md."""
    if not FORMATS.is_dir():
        print("not compared: no ../shared/formats/xplane")
        report.skipped += 1
        return
    conv = FORMATS / "real_jax_mi300_conv.xplane.pb"
    report.equal("conv: events by device", common.query(conv, "select device, count(*), sum(dur) from event where ph = 'X' and device < 2 group by 1 order by 1"),
                 [[0, 60, 4000165], [1, 25, 3345845]])
    report.equal("conv: device events", one(conv, "select count(*) from kernel"), [235])
    report.equal("conv: calls", one(conv, "select count(*) from event where cat = 'cuda_runtime'"), [234])
    report.equal("conv: every kernel has the call with its correlation", one(conv, "select count(*) from kernel where correlation in (select correlation from event where cat = 'cuda_runtime')"), [235])
    report.equal("conv: host events", one(conv, "select count(*) from event where pid = 701 and ph in ('X', 'i')"), [3415])
    report.equal("conv: threads", one(conv, "select count(distinct tid) from event where pid = 701 and ph <> 'M'"), [32])
    report.equal("conv: streams of device 0", one(conv, "select count(distinct stream) from kernel where device = 0"), [4])
    report.equal("conv: the host", info(conv)["input"].get("hosts", ["tw003"]), ["tw003"])
    report.equal("conv: the clock", events(conv)["baseTimeNanoseconds"], 1771595639214724894)
    report.equal("conv: sizes of a launch", one(conv, "select grid, block from kernel where name = 'Im3d2Col' limit 1"), [[1024, 1, 1], [256, 1, 1]])

    attention = FORMATS / "real_jax_gfx950_te_attention.xplane.pb"
    report.equal("attention: kernels", one(attention, "select count(*), sum(dur), count(distinct stream), max(stream), max(device) from kernel"), [150, 12133585, 1, 2, 0])
    report.equal("attention: launches", one(attention, "select count(*) from kernel k join runtime r on r.correlation = k.correlation"), [150])
    report.equal("attention: host events", one(attention, "select count(*) from event where pid = 701 and ph in ('X', 'i')"), [1842])
    for path in (conv, attention):
        for what in (["report"], ["analyze", "comm-overlap"], ["analyze", "critical-path"], ["analyze", "kernels"]):
            done = common.run(*what, path, "--quiet")
            report.check(f"{path.name}: {' '.join(what)}", done.returncode == 0 and done.stdout, done.stderr[:200])

    cpu = FORMATS / "jax_cpu.xplane.pb"
    report.equal("cpu: events by thread", common.query(cpu, "select count(*) from event where ph = 'X' group by tid order by 1"), [[45], [81]])
    report.equal("cpu: steps", common.query(cpu, "select name, json_extract(args, '$.step_num') from event where cat = 'user_annotation' order by ts"),
                 [[f"ProfilerStep#{i}", i] for i in range(5)])
    first = min(e["ts"] for e in events(cpu)["traceEvents"] if e["ph"] == "X")
    report.equal("cpu: the first event", first, common.decimal.Decimal("29.755"))
    if (FORMATS / "jax_cpu.trace.json.gz").exists():
        json_ = common.parse(common.read_bytes(FORMATS / "jax_cpu.trace.json.gz"))["traceEvents"]
        theirs = sorted((round(e["ts"] * 1000), e["name"]) for e in json_ if e.get("ph") == "X" and e["name"] != "train")
        ours = sorted((int(e["ts"] * 1000), e["name"]) for e in events(cpu)["traceEvents"] if e["ph"] == "X" and e["cat"] != "user_annotation")
        report.equal("cpu: names and starts are those of JAX's own JSON", ours, theirs)

    done = common.run("info", FORMATS / "damaged_text_mangled_head.xplane.pb")
    report.check("a file that a text tool damaged is refused", done.returncode == 1 and b"text tool" in done.stderr and b"damaged_text" in done.stderr, done.stderr)


def events(path):
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "made.json"
        done = common.run("convert", path, made, "--quiet")
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
        return common.parse(made.read_bytes())


# -- by hand

def environment():
    plane = Plane("Task Environment")
    plane.own = [("profile_start_time", 1700000000000000000), ("SECRET_TOKEN", "hunter2")]
    return plane.bytes()


def test_cuda(report, folder):
    host, device = Plane("/host:CPU"), Plane("/device:GPU:1")
    host.line(5, "python/77", 100, host.event("cuLaunchKernel", 1000, 500, correlation_id=4), host.event("cudaMemcpyAsync", 3000, 10, correlation_id=5),
              host.event("$train.py:3 main", 0, 9000), host.event("make", 1000, 10, _pt=1, _p=9), host.event("take", 8000, 10, _ct=1, _c=9))
    device.line(7, "Stream #7(Kernel,MemcpyD2H)", 100,
                device.event("gemm", 5000, 2001, correlation_id=4, kernel_details="regs:32 static_shared:16 dynamic_shared:8 grid:2,3,1 block:256,1,1 occ_pct:50"),
                device.event("MemcpyD2H", 9000, 1000, correlation_id=5, memcpy_details="kind_src:device kind_dst:pinned size:64 dest:0 async:1"),
                device.event("Memset", 20000, 0, memset_details="kind:device num_bytes:8"))
    device.own = [("core_count", 132), ("gpu_device_name", "H100")]
    path = folder / "cuda.xplane.pb"
    path.write_bytes(host.bytes() + device.bytes() + environment())
    trace = events(path)
    got = {e["name"]: e for e in trace["traceEvents"] if e["ph"] == "X"}
    report.equal("categories", {name: e["cat"] for name, e in got.items()},
                 {"cuLaunchKernel": "cuda_driver", "cudaMemcpyAsync": "cuda_runtime", "$train.py:3 main": "python_function", "make": "cpu_op", "take": "cpu_op",
                  "gemm": "kernel", "MemcpyD2H": "gpu_memcpy", "Memset": "gpu_memset"})
    report.equal("starts round down, ends up", (got["gemm"]["ts"] * 1000, got["gemm"]["dur"] * 1000), (105, 3))
    args = got["gemm"]["args"]
    report.equal("a launch", [args[key] for key in ("correlation", "device", "stream", "grid", "block", "registers per thread", "shared memory")],
                 [4, 1, 7, [2, 3, 1], [256, 1, 1], 32, 24])
    report.equal("bytes", (got["MemcpyD2H"]["args"]["bytes"], got["Memset"]["args"]["bytes"]), (64, 8))
    report.equal("a flow", [(e["ph"], e["ts"]) for e in trace["traceEvents"] if e["ph"] in "sf"], [("s", common.decimal.Decimal("0.101")), ("f", common.decimal.Decimal("0.108"))])
    report.equal("the device", trace["deviceProperties"], [{"id": 1, "numSms": 132, "name": "H100"}])
    report.equal("row of the thread", got["cuLaunchKernel"]["tid"], 77)
    report.check("the environment stays where it is", "hunter2" not in json.dumps(trace, default=str))


def test_tpu(report, folder):
    tpu = Plane("/device:TPU:0")
    tpu.line(1, "Steps", 0, tpu.event("3", 0, 10_000_000), tpu.event("4", 10_000_000, 10_000_000))
    tpu.line(2, "XLA Modules", 0, tpu.event("jit_step(1)", 1_000_000, 8_000_000))
    tpu.line(3, "XLA Ops", 0, tpu.event("%fusion.1 = f32[2]", 2_000_000, 1_000_000), tpu.event("%all-reduce.2 = f32[2]", 3_000_000, 500_000))
    path = folder / "tpu.xplane.pb"
    path.write_bytes(tpu.bytes(constants={"%fusion.1 = f32[2]": {"flops": 64, "hlo_category": "fusion"}}))
    report.equal("operations are kernels", common.query(path, "select name, dur, json_extract(args, '$.flops') from kernel order by ts"), [["%fusion.1 = f32[2]", 1000, 64], ["%all-reduce.2 = f32[2]", 500, None]])
    report.equal("modules", one(path, "select cat, dur from event where name = 'jit_step(1)'"), ["gpu_user_annotation", 8000])
    report.equal("steps", common.query(path, "select name, dur from event where cat = 'user_annotation' order by ts"), [["ProfilerStep#3", 10000], ["ProfilerStep#4", 10000]])


def test_cut(report, folder):
    """A file that is cut off keeps the events that are there; names, which come last, may be missing."""
    plane = Plane("/host:CPU")
    plane.line(1, "a", 0, *[plane.event("x", 1000 * i, 500) for i in range(50)])
    plane.line(2, "b", 0, *[plane.event("y", 1000 * i, 500) for i in range(50)])
    whole = plane.bytes()
    path = folder / "cut.xplane.pb"
    for missing, count in ((15, 100), (60, 50)):  # names, then a part of the second line
        path.write_bytes(whole[:len(whole) - missing])
        report.equal(f"events of a file without {missing} bytes", one(path, "select count(*) from event where ph = 'X'"), [count])
    report.check("it is told", b"truncated" in common.run("info", path).stderr)


# -- JAX itself

JAX = """
import sys, jax, jax.numpy as jnp
step = jax.jit(lambda x: jnp.tanh(x @ x).sum())
x = jnp.ones((256, 256))
step(x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    for i in range(4):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            step(x).block_until_ready()
"""


def test_jax(report, folder):
    python = os.environ.get("JAX_PYTHON", str(common.ROOT / "build/jax/bin/python"))
    if not os.access(python, os.X_OK) or subprocess.run([python, "-c", "import jax"], capture_output=True, check=False).returncode:
        print("not recorded: JAX is not installed (tools/install-jax)")
        report.skipped += 1
        return
    logs = folder / "logs"
    done = subprocess.run([python, "-c", JAX, str(logs)], capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ, JAX_PLATFORMS="cpu"))
    if not report.equal("jax records", done.returncode, 0):
        print(done.stderr[-500:])
        return
    runs = sorted((logs / "plugins/profile").iterdir())
    for path in (runs[0], logs):
        report.equal(f"{path.name}: steps", one(path, "select count(*) from event where name glob 'ProfilerStep#[0-3]'"), [4])
        report.check(f"{path.name}: operations", one(path, "select count(*) from event where args like '%hlo_op%'")[0] >= 4)
        done = common.run("report", path, "--quiet")
        report.check(f"{path.name}: report", done.returncode == 0 and b"step" in done.stdout.lower(), done.stderr[:300])


# -- damaged and hostile

def outcome(path):
    done = subprocess.run([common.program(), "info", str(path), "--quiet"], capture_output=True, timeout=120, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)))
    return done.returncode, done.stderr.decode("utf-8", "replace")


def test_hostile(report, folder):
    files = {
        "lying.pb": data(1, data(2, "/host:CPU")) + b"\x0a\xff\xff\xff\xff\x07" + b"x" * 50,
        "many_planes.pb": data(1, data(2, "/host:CPU")) * 100000,
        "many_lines.pb": data(1, data(2, "/host:CPU") + data(3, uint(1, 1)) * 200000),
        "times.pb": data(1, data(2, "/host:CPU") + data(3, uint(3, 2 ** 63 - 1) + data(4, uint(2, 2 ** 63 - 1) + uint(3, 2 ** 63 - 1)) * 1000)),
        "unnamed.pb": data(1, data(2, "/device:GPU:0") + data(3, data(4, uint(1, 7) + uint(2, 5) + data(4, uint(1, 9) + uint(7, 9))) * 1000)),
    }
    for name, content in files.items():
        path = folder / name
        path.write_bytes(content)
        code, message = outcome(path)
        report.check(f"{name} is read", code == 0, f"exit {code}: {message}")
    named = data(5, uint(1, 1) + data(2, uint(1, 1) + data(2, "n" * 100000)))
    event = data(4, uint(2, 5) + data(4, uint(1, 1) + uint(4, 1)) * 30000)
    (folder / "same_key.xplane.pb").write_bytes(data(1, data(2, "/host:CPU") + named + data(3, event)))
    common.run("convert", folder / "same_key.xplane.pb", folder / "same_key.json", "--quiet")
    report.check("a long key, 30,000 times", (folder / "same_key.json").stat().st_size < 10 << 20, (folder / "same_key.json").stat().st_size)
    report.equal("an event without a name", one(folder / "unnamed.pb", "select name, count(*) from event where ph = 'X' group by 1"), ["event 7", 1000])


def test_mutations(report, folder):
    rng = random.Random(7)
    tier = 40 if os.environ.get("KINO_TIER") == "test-all" else 8
    sources = [path.read_bytes() for path in sorted(folder.glob("*.xplane.pb"))]
    sources += [path.read_bytes()[:30000] for path in sorted(FORMATS.glob("*.xplane.pb"))] if FORMATS.is_dir() else []
    target = folder / "mutated.bin"
    for source in sources:
        for _ in range(tier):
            made = bytearray(source)
            for _ in range(rng.randint(1, 8)):
                made[rng.randrange(20, len(made))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            target.write_bytes(made[:rng.randint(20, len(made))] if rng.random() < 0.3 else made)
            code, message = outcome(target)
            report.check("mutation", code in (0, 1), f"exit {code}: {message[:200]}")


def main():
    report = common.Report()
    test_samples(report)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_cuda(report, folder)
        test_tpu(report, folder)
        test_cut(report, folder)
        test_jax(report, folder)
        test_hostile(report, folder)
        test_mutations(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
