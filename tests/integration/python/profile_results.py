"""What kino.profile has beside PyTorch's interface, or does in its own way: the memory timeline, the report, the web UI, what is said when nothing was
recorded, settings without an effect."""
import gzip
import json
import os
import sys
import urllib.request
import warnings

import kino
import kino.profiler
import torch
from kino.profiler import _config
from torch import nn
from torch._C._profiler import _ExperimentalConfig

CPU = [torch.profiler.ProfilerActivity.CPU]
PARAMETER, OPTIMIZER_STATE, INPUT, TEMPORARY, ACTIVATION, GRADIENT, AUTOGRAD, UNKNOWN = range(8)
PREEXISTING, CREATE, INCREMENT, DESTROY = range(4)
STEPS = 2


def train(P):
    """Fixed sizes: a hidden layer of 64 kB, so that categories can be told by their sizes."""
    torch.manual_seed(1)
    model, x = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 4)), torch.ones(128, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with P.profile(activities=CPU, record_shapes=True, profile_memory=True, with_stack=True) as p:
        for _ in range(STEPS):
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return p


def exported(profiler, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profiler.export_memory_timeline(path, "cpu")
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8") as file:
        return file.read()


def check_timeline(report):
    """Every allocation of the trace is in it, and the categories have the sizes that the model gives them."""
    p = train(kino.profiler)
    actions = json.loads(exported(p, "t.raw.json.gz"))
    p.export_chrome_trace("t.trace.json")
    with open("t.trace.json", encoding="utf-8") as file:
        records = [event["args"]["Bytes"] for event in json.load(file)["traceEvents"] if event["name"] == "[memory]"]
    report.equal("the timeline: bytes that are made and freed", sorted(size for _, action, size, _ in actions if action != PREEXISTING), sorted(records))

    def made(category):
        return [size for _, action, size, kind in actions if action == CREATE and kind == category]

    model_bytes = 4 * (16 * 128 + 128 + 128 * 4 + 4)
    report.equal("the optimizer's state has the size of the model", sum(made(OPTIMIZER_STATE)), model_bytes)
    report.equal("gradients have the size of the model, in each step", sum(made(GRADIENT)), STEPS * model_bytes)
    report.check("activations: the hidden layer", made(ACTIVATION).count(4 * 128 * 128) >= STEPS, made(ACTIVATION))


def by_category(actions, wanted):
    """Bytes of each category."""
    found = {}
    for _, action, size, category in actions:
        if action == wanted:
            found[category] = found.get(category, 0) + size
    return found


def check_owners(report):
    """What is there when the window ends is known by whose it is, also when it was there before."""
    model, x = nn.Linear(64, 32), torch.ones(8, 64)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    size, steps = 4 * (64 * 32 + 32), 4 * 2  # Adam counts steps, as a tensor of each parameter

    def window(step):
        with kino.profile(activities=CPU, record_shapes=True, profile_memory=True, with_stack=True) as p:
            step()
        return json.loads(exported(p, "t.raw.json.gz"))

    def train_once():
        model(x).sum().backward()
        optimizer.step()

    class Shy:
        """Says something when it is asked for its class, as torch.distributed.reduce_op does."""
        @property
        def __class__(self):
            warnings.warn("asked", FutureWarning, stacklevel=2)
            return Shy

    shy, answers = Shy(), []
    report.equal("other objects are not asked what they are", said(lambda: answers.append(window(train_once))), [])
    first = answers[0]
    report.equal("parameters were there before", by_category(first, PREEXISTING).get(PARAMETER), size)
    made = by_category(first, CREATE)
    report.equal("gradients and the optimizer's state are made", (made.get(GRADIENT), made.get(OPTIMIZER_STATE)), (size, 2 * size + steps))
    second = window(train_once)
    before = by_category(second, PREEXISTING)
    report.equal("and were there before the next window", [before.get(kind) for kind in (PARAMETER, GRADIENT, OPTIMIZER_STATE)],
                 [size, size, 2 * size + steps])

    def build():
        kept.append(nn.Linear(64, 32))
        kept[0](x)

    kept = []
    report.equal("parameters that are made in a window", by_category(window(build), CREATE).get(PARAMETER), size)
    del shy
    report.equal("a module that is not called is not known", PARAMETER in by_category(window(lambda: torch.ones(2)), PREEXISTING), False)


def check_timeline_files(report):
    p = train(kino.profiler)
    times, sizes = json.loads(exported(p, "t.json"))
    report.check("times are in order, with a row for each", times == sorted(times) and len(times) == len(sizes) and len(times) > 10)
    report.check("a row has a zero and eight categories", {len(row) for row in sizes} == {9} and {row[0] for row in sizes} == {0})
    report.equal(".json.gz has the same", json.loads(exported(p, "t.json.gz")), [times, sizes])
    page = exported(p, "t.html")
    report.check("a page with a picture", page.startswith("<!DOCTYPE html>") and page.count("<polygon") == 8 and "GRADIENT" in page)
    plain = kino.profile(activities=CPU)
    with plain:
        torch.ones(2)
    for profiler, kind, word in ((plain, ValueError, "record_shapes=True, profile_memory=True, with_stack=True"),
                                 (kino.profile(record_shapes=True, profile_memory=True, with_stack=True), AssertionError, "initialized")):
        report.check(f"the timeline is refused: {word}", word in raised(kind, lambda: exported(profiler, "no.json")))  # noqa: B023 (called at once)


def raised(kind, work):
    try:
        work()
    except kind as error:
        return str(error)
    return ""


def said(work):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [str(warning.message) for warning in found]


def check_report(report):
    with kino.profile(activities=CPU, schedule=kino.schedule(wait=0, warmup=1, active=3, repeat=1)) as p:
        model, x = nn.Linear(256, 256), torch.ones(512, 256)
        for _ in range(5):
            model(x).sum().backward()
            p.step()
    text = p.report().text
    report.check("the report knows the steps", "Steps: 3" in text, text[:300])
    report.check("its headline speaks of operators on the CPU", "operators on the CPU" in text, text[:600])
    report.check("and has the largest operators", "aten::" in text)
    report.check("it speaks of Python's arguments, not of options of the command line", "--full" not in text and "full=True" in text, text[-200:])
    report.equal("it has the program's name, not that of a temporary file", text.splitlines()[0], f"{os.path.basename(sys.argv[0])}, recorded by kino.profile")
    report.equal("nothing is warned of", said(p.report), [])


def check_nothing_recorded(report):
    with kino.profile(activities=CPU) as p:
        pass
    report.equal("nothing was recorded: the report says so", ["no operator was recorded" in text for text in said(p.report)], [True])


def check_show(report):
    with kino.profile(activities=CPU) as p:
        torch.ones(8).add(1)
    with p.show("timeline") as server:
        report.check("the web UI of the window", server.url.endswith("#/timeline"), server.url)
        with urllib.request.urlopen(server.address + "api/v1/status", timeout=60) as answer:
            report.equal("it answers", json.load(answer)["kino"], 1)


def check_settings_without_effect(report):
    """Each is said once per process; what has an effect is not."""
    _config._said.clear()
    settings = {"profiler_metrics": ["a"], "profiler_measure_per_kernel": True, "performance_events": ["cycles"], "enable_cuda_sync_events": True,
                "adjust_profiler_step": True, "disable_external_correlation": True, "custom_profiler_config": "x", "adjust_timestamps": True}
    quiet = {"verbose": True, "profile_all_threads": True, "record_python_gc_info": True, "expose_kineto_event_metadata": True, "trace_only": True}
    for name, value in {**settings, **quiet}.items():
        texts = [text for _ in range(2) for text in said(lambda: record(_ExperimentalConfig(**{name: value})))]  # noqa: B023 (called at once)
        report.equal(f"{name}: what is said", texts, [f"kino.profile: experimental_config.{name} has no effect"] if name in settings else [])
    texts = said(lambda: kino.profile(activities=[{CPU[0]: ["CPU_OP"]}]).prepare_trace())
    report.check("kinds of activities: it is said", any("not filtered" in text for text in texts), texts)


def record(config):
    with kino.profile(activities=CPU, experimental_config=config):
        torch.ones(2)


def run(report):
    for check in (check_timeline, check_owners, check_timeline_files, check_report, check_nothing_recorded, check_show, check_settings_without_effect):
        check(report)
