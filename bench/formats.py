#!/usr/bin/env python3
"""Inputs and peers of the group "formats": bench/formats.py torch JSON FILE writes a trace as PyTorch 2.14 does, bench/formats.py xplane FILE
BYTES writes an XPlane file of kernels and calls, and bench/formats.py load FILE reads a Perfetto trace with Google's Python package into the columns
that Kino has, and prints a sample as the other benchmarks do."""
import json
import pathlib
import resource
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/integration"))  # support


def torch(source, target):
    from support.perfetto_file import write_like_torch
    write_like_torch(pathlib.Path(source), pathlib.Path(target), compress=False)


def xplane(path, size):
    """Streams whose kernels each have a launch with their correlation, its details and the operation; all have the same events."""
    from support.protobuf import data, uint
    from support.xplane_file import Plane
    device, host, count = Plane("/device:GPU:0"), Plane("/host:CPU"), 10000
    work = b"".join(device.event(f"kernel_{i % 300}", 2_000_000 * i, 1_500_000, correlation_id=i + 1, hlo_op=f"fusion.{i % 300}", hlo_module="jit_step",
                                 kernel_details=f"regs:32 static_shared:0 dynamic_shared:0 grid:{i % 64 + 1},1,1 block:256,1,1 occ_pct:100") for i in range(count))
    calls = b"".join(host.event("cuLaunchKernel", 2_000_000 * i, 900_000, correlation_id=i + 1) for i in range(count))
    lines = max(1, size // (len(work) + len(calls)))
    for number in range(1, lines + 1):
        for plane, name, events in ((device, f"Stream #{number}(Kernel)", work), (host, f"python/{number}", calls)):
            plane.lines.append(data(3, uint(1, number) + data(2, name) + uint(3, 1000) + events))
    with open(path, "wb") as file:
        file.write(device.bytes())
        file.write(host.bytes())
    print(json.dumps({"events": 2 * count * lines}))


def load(path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
    content = pathlib.Path(path).read_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    trace = Trace()
    trace.ParseFromString(content)
    names, categories, begins, rows = {}, {}, [], []
    for packet in trace.packet:
        if packet.HasField("interned_data"):
            names.update((entry.iid, entry.name) for entry in packet.interned_data.event_names)
            categories.update((entry.iid, entry.name) for entry in packet.interned_data.event_categories)
        if packet.HasField("track_event"):
            event = packet.track_event
            if event.type == 1:
                args = {note.name: note.int_value for note in event.debug_annotations if note.HasField("int_value")}
                begins.append((packet.timestamp, names[event.name_iid], [categories[iid] for iid in event.category_iids], event.track_uuid,
                               args.get("correlation"), args.get("External id")))
            else:
                rows.append(packet.timestamp)
        elif packet.HasField("gpu_render_stage_event"):
            stage = packet.gpu_render_stage_event
            extra = {entry.name: entry.value for entry in stage.extra_data}
            rows.append((packet.timestamp, stage.duration, stage.gpu_id, extra.get("stream id"), extra.get("correlation")))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"bench": "formats", "with": "protobuf, Python " + sys.version.split()[0], "jobs": 1, "bytes": len(content), "wall_s": [wall],
                      "cpu_s": [cpu], "peak_bytes": peak, "checks": {"events": len(begins) + sum(isinstance(row, tuple) for row in rows)}}))


if __name__ == "__main__":
    if sys.argv[1] == "torch":
        torch(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "xplane":
        xplane(sys.argv[2], int(sys.argv[3]))
    else:
        load(sys.argv[2])
