"""Rules of test_rows.py for analyses of what devices do: (rows used and noted, rows there are), as often as an analysis has something to count."""
from support.rows import KERNEL, MEMORY, analyze, has_note, idle, noted, numbers, total, union

UNLAUNCHED = "device events have no launch"


def kernels(t):
    yield total(analyze(t.path, "kernels")[0]["kernels"], "calls"), len(t.of(*KERNEL))


def tensor_cores(t):
    yield total(analyze(t.path, "tensor-cores")[0]["kernels"], "calls"), len(t.of(*KERNEL))


def kernel_breakdown(t):
    tables, _ = analyze(t.path, "kernel-breakdown", "--num-kernels", 1)
    yield total(tables["kernel"], "count"), len(t.device())


def kernel_types(t):
    yield len(analyze(t.path, "kernel-types")[0]["kernel_types"]), len({e["name"] for e in t.device()})


def annotated_kernels(t):
    tables, notes = analyze(t.path, "annotated-kernels")
    yield len(tables["annotated_kernels"]), 0 if has_note(notes, "not available") else len(t.device())


def temporal_breakdown(t):
    tables, notes = analyze(t.path, "temporal-breakdown")
    rows = tables["temporal_breakdown"]
    covered, span = union(t.device())
    yield total(rows, "kernel_time"), span
    yield total(rows, "kernel_time") - total(rows, "idle_time"), covered
    yield has_note(notes, "no device work"), not t.device()


def launch_stats(t):
    tables, notes = analyze(t.path, "launch-stats", "--include-memory")
    yield len(tables["launch_stats"]) + noted(notes, UNLAUNCHED), len(t.device())


def launch_bound(t):
    yield total(analyze(t.path, "launch-bound")[0]["launch_bound"], "kernels"), len(t.device())


def idle_time(t):
    yield total(analyze(t.path, "idle-time")[0]["idle"], "idle_time"), idle(t.device(), "stream")


def gaps(t):
    tables, _ = analyze(t.path, "gaps", "--num", 1000000, "--min-gap", "0ns")
    for table, column in (("gaps", "dur"), ("blame", "time")):
        yield total(tables[table], column), idle(t.device(), "device")


def comm_overlap(t):
    tables, _ = analyze(t.path, "comm-overlap")
    yield total(tables["comm_comp_overlap"], "communication"), union(t.communication())[0]


def queue_length(t):
    tables, notes = analyze(t.path, "queue-length", "--series", "yes")
    series = tables["queue_length_series"]
    work = {e["number"] for e in t.device()}
    yield len(numbers(series, "event") & work) + noted(notes, UNLAUNCHED), len(work)
    yield total(tables["queue_length_summary"], "count"), len(series)


def queue_blocked(t):
    """Its queues are those of queue-length: as long there as here."""
    tables, notes = analyze(t.path, "queue-blocked", "--max-queue-length", 1)
    series, of_length = analyze(t.path, "queue-length", "--series", "yes")
    blocked, before = 0, {}
    for row in series["queue_length_series"]:
        last = before.get(row["stream"])
        blocked += row["ts"] - last["ts"] if last and last["queue_length"] >= 1 else 0
        before[row["stream"]] = row
    yield total(tables["time_blocked"], "duration_at_max_queue_length"), blocked
    yield noted(notes, UNLAUNCHED), noted(of_length, UNLAUNCHED)


def memory_bandwidth(t):
    tables, notes = analyze(t.path, "memory-bandwidth", "--series", "yes")
    used = numbers(tables["memory_bw_series"], "event")
    yield len(used) + noted(notes, "copies and memsets have no bandwidth"), len(t.of(*MEMORY))


def op_kernels(t):
    tables, notes = analyze(t.path, "op-kernels")
    used = sum(row["occurrence_count"] * len([name for name in row["kernel_sequence"].split(" -> ") if not name.startswith(("Memcpy", "Memset"))])
               for row in tables["op_kernels"])
    yield used + noted(notes, "kernels launched outside") + noted(notes, UNLAUNCHED), len(t.of(*KERNEL))


def cupti_counters(t):
    tables, notes = analyze(t.path, "cupti-counters")
    there = t.of("cuda_profiler_range")
    yield len(tables["counters_by_kernel"]), 0 if has_note(notes, "left out") else len(there)


def collectives(t):
    tables, _ = analyze(t.path, "collectives")
    for table in ("collectives", "ranks"):
        yield total(tables[table], "kernels"), len(t.communication())


def distributed(t):
    """Each kernel in one call; where a call has no kernel, its span on the host."""
    tables, _ = analyze(t.path, "distributed")
    yield total(tables["communication_ops"], "calls"), len(t.communication())


def kernel_costs(t):
    """Without device work, this and op-costs take operators of the CPU instead."""
    if t.device():
        yield len(analyze(t.path, "kernel-costs")[0]["kernel_costs"]), len(t.device())


def op_costs(t):
    if t.device():
        tables, _ = analyze(t.path, "op-costs")
        for table in ("op_costs", "directions"):
            yield total(tables[table], "kernels"), len(t.device())


RULES = {"kernel-costs": kernel_costs, "op-costs": op_costs, "kernels": kernels, "tensor-cores": tensor_cores, "kernel-breakdown": kernel_breakdown, "kernel-types": kernel_types,
         "annotated-kernels": annotated_kernels, "temporal-breakdown": temporal_breakdown, "launch-stats": launch_stats,
         "launch-bound": launch_bound, "idle-time": idle_time, "gaps": gaps, "comm-overlap": comm_overlap, "queue-length": queue_length,
         "queue-blocked": queue_blocked, "memory-bandwidth": memory_bandwidth, "op-kernels": op_kernels, "cupti-counters": cupti_counters,
         "collectives": collectives, "distributed": distributed}
