"""Two processes that train together (gloo): both profilers see the same, in each. Runs itself as the two processes."""
import collections
import json
import os
import pathlib
import subprocess
import sys

STEPS = 4


# Numbers of one profiler's own, those that count on from window to window, and what a collective that another thread ends may be at the end.
OWN = ("External id", "Record function id", "Ev Idx", "Sequence number", "Fwd thread id", "Seq", "Comms Id", "finished")


def described(event):
    """The inputs; of collectives all arguments."""
    args = event.get("args", {})
    is_collective = event["name"].startswith(("gloo:", "record_param_comms"))
    kept = {key: value for key, value in args.items() if key in ("Input Dims", "Input type") or (is_collective and key not in OWN)}
    return json.dumps(kept, sort_keys=True)


def spans(trace):
    """How often each operator was there, with its inputs."""
    return collections.Counter((event["cat"], event["name"], described(event))
                               for event in trace["traceEvents"] if event.get("ph") == "X" and event["cat"] in ("cpu_op", "user_annotation"))


def train(module, path):
    import torch
    torch.manual_seed(2)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    options = {"activities": [module.ProfilerActivity.CPU], "record_shapes": True,
               "schedule": module.schedule(wait=1, warmup=1, active=2, repeat=1)}
    with module.profile(**options) as profiler:
        for _ in range(STEPS):
            net(torch.ones(3, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def worker(rank, folder):
    import kino
    import torch
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    theirs, ours = train(torch.profiler, f"{folder}/torch-{rank}.json"), train(kino, f"{folder}/rank-{rank}.json")
    want, got = spans(theirs), spans(ours)
    torch.distributed.destroy_process_group()
    print(json.dumps({"missing": str(want - got), "more": str(got - want), "count": sum(want.values()),
                      "collectives": sum(count for (_, name, _), count in want.items() if name.startswith("gloo:")),
                      "distributed": [ours.get("distributedInfo"), theirs["distributedInfo"]]}))


def run(report):
    folder = pathlib.Path.cwd() / "ranks"
    folder.mkdir()
    env = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    started = [subprocess.Popen([sys.executable, __file__, str(rank), str(folder)], stdout=subprocess.PIPE, text=True, env=env) for rank in (0, 1)]
    for rank, process in enumerate(started):
        output, _ = process.communicate(timeout=120)
        if not report.equal(f"rank {rank} ends", process.returncode, 0):
            continue
        found = json.loads(output.splitlines()[-1])
        report.equal(f"rank {rank}: operators that only torch.profiler has", found["missing"], "Counter()")
        report.equal(f"rank {rank}: operators that only kino.profile has", found["more"], "Counter()")
        report.check(f"rank {rank}: there are operators and collectives", found["count"] > 30 and found["collectives"] > 0, found["count"])
        report.equal(f"rank {rank}: distributedInfo", *found["distributed"])
    import kino
    with kino.open([str(folder / f"rank-{rank}.json") for rank in (0, 1)], progress=False) as run_of_both:
        report.equal("both ranks are one run", run_of_both.ranks, [0, 1])


if __name__ == "__main__":
    worker(int(sys.argv[1]), sys.argv[2])
