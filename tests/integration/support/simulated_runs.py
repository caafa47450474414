"""Kinds of simulated runs with a known truth: who is slow and why, what limits all, or nothing. simulated_rank.py has the simulator."""
import pathlib
import random

from support.simulated_rank import MATMUL, OPTIMIZER, POINTWISE, Run

KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


class Truth:
    def __init__(self, rank=None, cause=None, limit=None, also=None, left_out=(), has_launcher=False):
        self.rank, self.cause, self.limit, self.also = rank, cause, limit, also
        self.left_out, self.has_launcher = left_out, has_launcher


class Training:
    """One rank's program: loader, copy, forward, backward with collectives, optimizer. `extra(rank, step)` is what a rank has on top, in µs,
    by cause."""

    def __init__(self, run, **given):
        rng = run.rng
        self.run, self.style, self.is_cpu, self.is_synchronous = run, "ddp", False, True
        self.time = given.pop("time", rng.choice([8e3, 2e4, 6e4, 1.5e5, 4e5]))
        self.layers, self.steps, self.first = rng.randrange(4, 13), rng.randrange(3, 8), rng.randrange(1, 900)
        self.__dict__.update({k: given.pop(k) for k in ("layers",) if k in given})
        self.loader, self.copy = rng.uniform(30, 120), self.time * rng.uniform(.002, .01)
        self.host = min(max(self.time / self.layers / 40, 6), 60)  # of an operator that launches
        self.bucket, self.transfer = rng.randrange(1, 4), self.time * rng.uniform(.05, .2)
        self.has_annotations, self.pause_at, self.cut = rng.random() < .5, 0, {}
        self.extra = lambda rank, step: {}
        self.__dict__.update(given)
        self.kernel = self.time / (self.layers * 3.2)

    def buckets(self):
        return -(-self.layers // self.bucket)

    def tensor_group(self, rank):
        return tuple(range(rank // 2 * 2, rank // 2 * 2 + 2))

    def data_group(self, rank):
        return tuple(r for r in self.run.everybody if r % 2 == rank % 2)

    def layer(self, rank, scale, names):
        outer, operator, activation = names
        if self.is_cpu:
            rank.operator(outer, self.kernel * scale, operator)
        else:
            rank.launch(operator, self.run.rng.choice(MATMUL), self.kernel * scale * .9, self.host, outer=outer)
            rank.launch(activation, POINTWISE[0][1], self.kernel * scale * .1, self.host)

    def forward(self, rank, extra, scale):
        for i in range(self.layers):
            if i == self.pause_at and extra.get("host"):
                rank.pause(extra["host"])
            self.layer(rank, scale, ("aten::linear", "aten::addmm", "aten::gelu"))
            if self.style == "tensor":
                yield from rank.collective("all_reduce", self.tensor_group(rank.rank), self.transfer / (2 * self.layers), True)
            if self.style == "fsdp" and i % 2 == 0:
                yield from rank.collective("all_gather", self.run.everybody, self.transfer / self.layers, True)

    def backward(self, rank, scale):
        main, rank.tid = rank.tid, rank.tid if self.is_cpu else rank.pid + 1
        for i in range(self.layers):
            self.layer(rank, 2 * scale, ("AddmmBackward0", "aten::mm", "aten::gelu_backward"))
            if self.style == "tensor":
                yield from rank.collective("all_reduce", self.tensor_group(rank.rank), self.transfer / (2 * self.layers), True)
            if (i + 1) % self.bucket == 0 or i == self.layers - 1:
                yield from self.reduce(rank)
        rank.tid = main
        if self.style == "tensor":
            yield from rank.collective("all_reduce", self.data_group(rank.rank), self.transfer / 3)

    def reduce(self, rank):
        part = self.transfer / self.buckets()
        if self.style == "ddp":
            yield from rank.collective("all_reduce", self.run.everybody, part)
        if self.style == "fsdp":
            yield from rank.collective("reduce_scatter", self.run.everybody, part)
        if self.style == "gloo":
            yield from rank.gloo("all_reduce", self.run.everybody, part)

    def optimize(self, rank):
        start = rank.now
        if self.is_cpu:
            rank.operator("aten::_foreach_addcdiv_", self.kernel * .2, "aten::addcdiv_")
        else:
            rank.launch("aten::_foreach_addcdiv_", OPTIMIZER, self.kernel * .2, self.host * 2)
        rank.add("user_annotation", "Optimizer.step#AdamW.step", start, rank.now - start)

    def end_step(self, rank, step):
        if self.is_cpu:
            return
        if self.is_synchronous or step == self.steps - 1:
            rank.synchronize()
        elif rank.device_free - rank.now > self.time:  # the queue of launches has an end
            rank.now = rank.device_free - self.time

    def __call__(self, rank):
        for step in range(self.steps):
            start, before, extra = rank.now, len(rank.events), self.extra(rank.rank, step)
            scale = 1 + (extra.get("kernels", 0) + extra.get("operators", 0)) / (self.layers * 3 * self.kernel)
            rank.load(self.loader + extra.get("loader", 0))
            if not self.is_cpu:
                rank.copy(self.copy + extra.get("copies", 0))
            forward = rank.now
            yield from self.forward(rank, extra, scale)
            if self.has_annotations:
                rank.add("user_annotation", "DistributedDataParallel.forward", forward, rank.now - forward)
            yield from self.backward(rank, scale)
            rank.wait_gloo()
            rank.wait_communication()
            self.optimize(rank)
            self.end_step(rank, step)
            if step < self.steps - self.cut.get(rank.rank, 0):
                rank.step(self.first + step, start)
            else:  # the recording of this rank ended earlier
                del rank.events[before:]


def training(rng, ranks, noise=.02, **given):
    run = Run(rng, ranks, noise)
    if given.get("is_cpu"):
        given["style"], run.backend = "gloo", "gloo"
    return run, Training(run, **given)


def slow(rng, causes, ranks=(2, 3, 4, 4, 8, 16), size=(.08, .5), noise=(.005, .03), **given):
    """One rank has more to do in all steps, by that share of the step."""
    run, program = training(rng, rng.choice(ranks), rng.uniform(*noise), **given)
    who, cause, extra = rng.choice(run.everybody), rng.choice(causes), rng.uniform(*size) * program.time
    program.extra = lambda rank, step: {cause: extra} if rank == who else {}
    run.simulate(program)
    return run, Truth(who, "host" if cause == "operators" else cause)


def clean(rng, ranks=(2, 3, 4, 8, 16), noise=(.03, .03), **given):
    run, program = training(rng, rng.choice(ranks), rng.uniform(*noise), **given)
    run.simulate(program)
    return run, Truth()


DEVICE, HOST = ("kernels", "host", "loader"), ("host", "operators", "loader")
CPU = {"is_cpu": True, "ranks": (2, 2, 3, 4)}


# -- a rank is slow --

@kind
def slow_kernels(rng):
    return slow(rng, ["kernels"])


@kind
def slow_host(rng):
    return slow(rng, ["host"])


@kind
def slow_loader(rng):
    return slow(rng, ["loader"])


@kind
def slow_copies(rng):
    return slow(rng, ["copies"])


@kind
def slow_without_synchronization(rng):
    """The host must fall behind by more than a step, else the device does not notice."""
    return slow(rng, ["host"], size=(1.2, 2), is_synchronous=False, steps=rng.randrange(4, 8))


@kind
def slow_gloo(rng):
    return slow(rng, HOST, **CPU)


@kind
def slow_tensor_parallel(rng):
    return slow(rng, DEVICE, ranks=(4, 8), style="tensor")


@kind
def slow_fsdp(rng):
    return slow(rng, DEVICE, ranks=(4, 8), style="fsdp")


@kind
def slow_little(rng):
    return slow(rng, DEVICE, ranks=(4, 8), size=(.05, .08), noise=(.004, .004), steps=rng.randrange(4, 8))


@kind
def slow_noisy(rng):
    return slow(rng, DEVICE, size=(.15, .5), noise=(.05, .15), steps=rng.randrange(4, 9))


@kind
def slow_two_steps(rng):
    return slow(rng, DEVICE, size=(.15, .5), noise=(.01, .01), steps=2)


@kind
def slow_one_step(rng):
    return slow(rng, DEVICE, size=(.35, .8), noise=(.01, .01), steps=1)


@kind
def slow_some_ranks_recorded(rng):
    run, truth = slow(rng, ["kernels", "loader"], ranks=(8,))
    kept = {*rng.sample(range(8), 3), truth.rank}
    truth.left_out = set(range(8)) - kept
    return run, truth


@kind
def slow_last_step_missing(rng):
    return slow(rng, DEVICE, ranks=(3, 4), steps=6, cut={1: 1})


@kind
def slow_clocks_differ(rng):
    run, truth = slow(rng, DEVICE)
    run.clocks = [rng.uniform(-1, 1) * rng.choice([1e4, 1e5, 1e7]) for _ in run.ranks]
    return run, truth


@kind
def slow_pair(rng):
    """Two ranks of one machine."""
    run, program = training(rng, 8, .01)
    first, cause, extra = rng.randrange(0, 8, 2), rng.choice(DEVICE), rng.uniform(.15, .4) * program.time
    program.extra = lambda rank, step: {cause: extra} if rank in (first, first + 1) else {}
    run.simulate(program)
    return run, Truth(first, cause, also=first + 1)


@kind
def slow_no_launches(rng):
    run, program = training(rng, rng.choice([3, 4, 8]), .01)
    run.has_launches = False
    who, extra = rng.choice(run.everybody), rng.uniform(.1, .4) * program.time
    program.extra = lambda rank, step: {"kernels": extra} if rank == who else {}
    run.simulate(program)
    return run, Truth(who, "kernels")


def drop_marks(run):
    for rank in run.ranks:
        rank.events = [event for event in rank.events if not event["name"].startswith("ProfilerStep")]


@kind
def slow_no_marks(rng):
    """On demand: Optimizer.step and the loader tell the iterations."""
    run, truth = slow(rng, HOST, size=(.2, .6), steps=rng.randrange(5, 9), **CPU)
    drop_marks(run)
    return run, truth


@kind
def slow_no_marks_on_devices(rng):
    run, truth = slow(rng, DEVICE, ranks=(2, 3, 4), size=(.2, .6), steps=rng.randrange(5, 9))
    drop_marks(run)
    return run, truth


@kind
def slow_launcher(rng):
    run, truth = slow(rng, HOST, is_cpu=True, ranks=(2, 3))
    truth.has_launcher = True
    return run, truth


@kind
def slow_rocm(rng):
    """AMD's calls, one generic kernel of RCCL."""
    run, truth = slow(rng, [*DEVICE, "copies"])
    names = {"cudaLaunchKernel": "hipLaunchKernel", "cudaLaunchKernelExC": "hipExtLaunchKernel", "cudaMemcpyAsync": "hipMemcpyWithStream",
             "cudaStreamSynchronize": "hipStreamSynchronize"} | dict.fromkeys(MATMUL, "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x128x64")
    for event in (event for rank in run.ranks for event in rank.events):
        is_nccl = event["name"].startswith("ncclDev")
        event["name"] = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)" if is_nccl else names.get(event["name"], event["name"])
    return run, truth


@kind
def slow_devices_with_gloo(rng):
    """Devices compute, gloo carries the gradients; the host waits for the device before."""
    run, program = training(rng, rng.choice([2, 4]), .01)
    run.backend = "cpu:gloo,cuda:gloo"
    who, cause, extra = rng.choice(run.everybody), rng.choice(DEVICE), rng.uniform(.15, .5) * program.time

    def rank_program(rank):
        mine = {cause: extra} if rank.rank == who else {}
        for step in range(program.steps):
            start = rank.now
            rank.load(program.loader + mine.get("loader", 0))
            rank.copy(program.copy)
            rank.pause(mine.get("host", 0))
            for i in range(2 * program.layers):
                rank.launch("aten::mm", MATMUL[i % 3], (program.time + mine.get("kernels", 0)) / (2 * program.layers), program.host)
            rank.synchronize()
            yield from rank.gloo("all_reduce", run.everybody, program.transfer)
            rank.wait_gloo()
            program.optimize(rank)
            rank.synchronize()
            rank.step(step, start)
    run.simulate(rank_program)
    return run, Truth(who, cause)


def pipeline(run, program, stage_of, weight):
    """Four micro-batches forward, four back; replicas of a stage reduce their gradients."""
    def rank_program(rank):
        mine = stage_of(rank.rank)
        before = next((r for r in run.everybody if stage_of(r) == mine - 1 and (r - rank.rank) % (len(run.ranks) // stage_of(-1)) == 0), None)
        after = next((r for r in run.everybody if stage_of(r) == mine + 1 and (r - rank.rank) % (len(run.ranks) // stage_of(-1)) == 0), None)
        replicas = tuple(r for r in run.everybody if stage_of(r) == mine)
        for step in range(program.steps):
            start = rank.now
            rank.load(40)
            for source, target, scale in ((before, after, 1), (after, before, 2)):
                for _ in range(4):
                    if source is not None:
                        yield from rank.collective("send", tuple(sorted((source, rank.rank))), 50, True)
                    rank.launch("aten::mm", MATMUL[0], scale * program.time / 14 * weight[rank.rank], 40)
                    if target is not None:
                        yield from rank.collective("send", tuple(sorted((target, rank.rank))), 50)
            if len(replicas) > 1:
                yield from rank.collective("all_reduce", replicas, program.transfer / 4, True)
            rank.wait_communication()
            program.optimize(rank)
            rank.synchronize()
            rank.step(step, start)
    run.simulate(rank_program)


@kind
def slow_in_a_pipeline(rng):
    """Two stages, two replicas of each: one replica is slow."""
    run, program = training(rng, 4, .01, steps=rng.randrange(3, 6))
    who, second = rng.randrange(4), rng.uniform(.7, 1.4)
    weight = [1, 1, second, second]
    weight[who] *= 1 + rng.uniform(.2, .5)
    pipeline(run, program, lambda rank: 2 if rank < 0 else rank // 2, weight)
    return run, Truth(who, "kernels")


# -- nobody is slow --

@kind
def clean_noise(rng):
    return clean(rng, noise=(.02, .1))


@kind
def clean_gloo(rng):
    return clean(rng, noise=(.02, .15), **CPU)


@kind
def clean_tensor_parallel(rng):
    return clean(rng, ranks=(4, 8), style="tensor")


@kind
def clean_fsdp(rng):
    return clean(rng, style="fsdp")


@kind
def clean_short_steps(rng):
    return clean(rng, ranks=(2, 4, 8), noise=(.05, .05), time=rng.uniform(600, 2000), host=6)


@kind
def clean_clocks_differ(rng):
    run, truth = clean(rng)
    run.clocks = [rng.uniform(-1, 1) * rng.choice([1e4, 1e5, 1e7]) for _ in run.ranks]
    return run, truth


@kind
def clean_launcher(rng):
    run, truth = clean(rng, is_cpu=True, ranks=(2,))
    truth.has_launcher = True
    return run, truth


@kind
def clean_pipeline(rng):
    """Stages of different weight: their nature."""
    count = rng.choice([2, 4])
    run, program = training(rng, count, .02, steps=4)
    pipeline(run, program, lambda rank: count if rank < 0 else rank, [rng.uniform(.5, 1.2) for _ in range(count)])
    return run, Truth()


def unsteady(rng, extra_of, **given):
    run, program = training(rng, rng.choice(given.pop("ranks", (2, 3, 4, 8))), **given)
    program.extra = extra_of(run, program)
    run.simulate(program)
    return run, Truth()


@kind
def clean_uneven_batches(rng):
    """Each rank and step has its own length of sequences."""
    width, drawn = rng.uniform(.05, .3), {}
    return unsteady(rng, lambda run, program: lambda rank, step: {"kernels": drawn.setdefault((rank, step), rng.uniform(0, width)) * program.time},
                    steps=rng.randrange(5, 10))


@kind
def clean_takes_turns(rng):
    """Another rank is slow in each step."""
    cause = rng.choice(DEVICE)
    return unsteady(rng, lambda run, program: lambda rank, step: {cause: .25 * program.time} if step % len(run.ranks) == rank else {},
                    ranks=(2, 3, 4), steps=rng.choice([6, 12]))


@kind
def clean_one_pause(rng):
    """A checkpoint: one step of one rank."""
    return unsteady(rng, lambda run, program: lambda rank, step: {"host": .6 * program.time} if (rank, step) == (1, 2) else {}, steps=rng.randrange(6, 10))


@kind
def clean_hidden_pause(rng):
    """The host of one rank pauses while its device has enough to do."""
    return unsteady(rng, lambda run, program: lambda rank, step: {"host": .05 * program.time} if rank == 1 else {}, layers=4, pause_at=2)


@kind
def clean_too_little(rng):
    """Below one percent of the step."""
    cause, share = rng.choice(DEVICE), rng.uniform(.001, .008)
    return unsteady(rng, lambda run, program: lambda rank, step: {cause: share * program.time} if rank == 1 else {})


# -- something limits all --

@kind
def limit_loader(rng):
    ranks = rng.choice([1, 2, 4])
    run, program = training(rng, ranks, style="ddp" if ranks > 1 else "none")
    program.loader = program.time * rng.uniform(.3, 1)
    run.simulate(program)
    return run, Truth(limit="loader")


@kind
def limit_communication(rng):
    run, program = training(rng, rng.choice([2, 4, 8]), .01, bucket=100)
    program.transfer = program.time * rng.uniform(.8, 2)
    run.simulate(program)
    return run, Truth(limit="communication")


@kind
def limit_pointwise(rng):
    """Chains of pointwise kernels take half of the device's time and more; inference on one device, or training on several."""
    ranks, share, layers, length = rng.choice([1, 2, 4]), rng.uniform(.5, .75), rng.randrange(6, 16), rng.randrange(5, 9)
    run, program = training(rng, ranks)

    def rank_program(rank):
        for step in range(program.steps):
            start = rank.now
            for i in range(layers):
                rank.launch("aten::addmm", MATMUL[i % 3], program.time * (1 - share) / layers, 6, outer="aten::linear")
                for k in range(length):
                    rank.launch(*POINTWISE[k % 4], program.time * share / layers / length, 6)
            if ranks > 1:
                yield from rank.collective("all_reduce", run.everybody, program.time * .01, True)
                program.optimize(rank)
            rank.synchronize()
            rank.step(step, start)
    run.simulate(rank_program)
    return run, Truth(limit="pointwise")


@kind
def limit_launches(rng):
    """Kernels so small that the host is slower."""
    run, program = training(rng, 1, .05)
    count, host = rng.randrange(60, 300), rng.uniform(18, 40)
    kernel = rng.uniform(2, host / 4)

    def rank_program(rank):
        for step in range(program.steps):
            start = rank.now
            for i in range(count):
                rank.launch("aten::mul" if i % 3 == 1 else "aten::mm", POINTWISE[1][1] if i % 3 == 1 else MATMUL[0], kernel, host)
            rank.synchronize()
            rank.step(step, start)
        yield from ()
    run.simulate(rank_program)
    return run, Truth(limit="launches")


def make(name, seed, folder):
    """Writes the run, and returns the truth about it and how many ranks it has."""
    rng = random.Random(f"{name} {seed}")
    run, truth = KINDS[name](rng)
    run.write(pathlib.Path(folder), truth.left_out)
    if truth.has_launcher:
        run.write_launcher(pathlib.Path(folder))
    return truth, len(run.ranks) - len(truth.left_out)
