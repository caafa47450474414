"""Traces that are made here, of devices that the shared traces do not have: what HTA and kino.hta say of them is compared."""
import json
import os
import random
import types

START = 1_600_000_000_000_000  # us, as files count
# By device: launch of a kernel and of a copy, and the category of both calls.
CALLS = {"cuda": ("cudaLaunchKernel", "cudaMemcpyAsync", "cuda_runtime"), "amd": ("hipLaunchKernel", "hipMemcpyAsync", "cuda_runtime"),
         "mtia": ("runFunction - job_prep_and_submit_for_execution", "memcpy", "mtia_runtime")}
OPERATORS = ["aten::mul", "aten::mm", "aten::add", "aten::copy_"]
KERNELS = ["gemm<float>(int)", "ncclKernel_AllReduce", "elementwise"]


def span(category, name, thread, ts, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": thread[0], "tid": thread[1], "ts": ts, "dur": dur, "args": args}


def device_work(chance, device, is_copy, ts, dur, correlation):
    stream = chance.choice([7, 7, 20])
    if device == "mtia":
        args = {"correlation": correlation, "stream": stream}
        if is_copy and chance.random() < 0.5:  # as in older traces
            del args["stream"]
        return span("mtia_ccp_events", "dma_request" if is_copy else "customized_fba_mul", (0, stream), ts, dur, **args)
    args = {"correlation": correlation, "stream": stream, "device": 0}
    if is_copy:
        args |= {"bytes": dur * 1000, "memory bandwidth (GB/s)": chance.random() * 10}
    return span("gpu_memcpy" if is_copy else "kernel", "Memcpy HtoD (Host -> Device)" if is_copy else chance.choice(KERNELS), (0, stream), ts, dur, **args)


def events_of(chance, device):
    """Four steps of a dozen operators; most of them launch something."""
    launch, copy, category = CALLS[device]
    events, host, correlation, now, busy = [], (10, 10), 100_001, START, START
    for step in range(1, 5):
        begin = now
        for _ in range(12):
            operator, dur = chance.choice(OPERATORS), chance.randint(20, 60)
            events.append(span("cpu_op", operator, host, now, dur))
            if chance.random() < 0.8:
                is_copy, length = operator == "aten::copy_", chance.randint(1, 80)
                events.append(span(category, copy if is_copy else launch, host, now + 3, chance.randint(2, 8), correlation=correlation))
                busy = max(busy, now + 5) + chance.randint(0, 30)
                events.append(device_work(chance, device, is_copy, busy, length, correlation))
                busy, correlation = busy + length, correlation + 1
            now += dur + chance.randint(1, 10)
        events.append(span("user_annotation", f"ProfilerStep#{step}", host, begin - 1, now - begin + 1))
        now += 20
    chance.shuffle(events)
    return [span("cpu_op", "aten::first", host, START - 50, 5), *events]  # HTA takes the number 0 of a partner for none


def cases(seeds):
    for device in CALLS:
        for seed in range(seeds):
            path = os.path.abspath(f"made-{device}-{seed}.json")
            backend = "mtia:hccl" if device == "mtia" else "nccl"
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"schemaVersion": 1, "distributedInfo": {"backend": backend, "rank": 0},
                           "traceEvents": events_of(random.Random(seed), device)}, file)
            yield types.SimpleNamespace(name=f"made {device} {seed}", ranks=[0], traces=[path], has_last_step=bool(seed % 2))
