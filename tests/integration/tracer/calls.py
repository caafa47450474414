"""Calls that do not simply return: recursion, exceptions, generators, coroutines, garbage collections."""
import asyncio
import gc

from kino import _tracer

from .recording import record, saved, session


def recurse(n):
    return recurse(n - 1) if n else 0


def fail(n):
    if n == 0:
        int("no number")
    fail(n - 1)


def catch(n):
    try:
        fail(n)
    except ValueError:
        return after()


def after():
    return 1


def numbers():
    try:
        yield 1
        yield 2
    finally:
        after()


def delegate():
    yield from numbers()


async def step(n):
    await asyncio.sleep(0)
    after()
    return n


async def tasks():
    return await asyncio.gather(*(step(i) for i in range(5)))


def recursion(report):
    depth = 300
    calls = record(lambda: recurse(depth))
    found = calls.named("recurse")
    report.equal("recursion: calls", len(found), depth + 1)
    report.equal("recursion: each calls the next", [calls.parent(e) for e in found[1:]], found[:-1])
    report.equal("recursion nests", calls.faults(), [])


def exceptions(report):
    calls = record(lambda: catch(5))
    report.equal("exceptions: calls", len(calls.named("fail")), 6)
    report.equal("the handler's call is its own", calls.parent(calls.named("after")[0]), calls.named("catch")[0])
    report.equal("exceptions nest", calls.faults(), [])

    def loses():
        for _ in range(3):
            try:
                {}["missing"]
                len(5)
            except (KeyError, TypeError):
                after()

    calls = record(loses)
    report.equal("C functions that fail nest", calls.faults(), [])
    report.equal("what follows has the right caller", {calls.parent(e)["name"].split(": ")[1] for e in calls.named("after")}, {"loses"})


def generators(report):
    def work():
        suspended = numbers()
        next(suspended)
        after()
        abandoned = delegate()
        next(abandoned)
        del abandoned
        try:
            suspended.throw(KeyError)
        except KeyError:
            pass
        keep.append(delegate())
        next(keep[0])

    keep = []
    calls = record(work)
    report.equal("generators nest", calls.faults(), [])
    callers = [calls.parent(e)["name"].split(": ")[-1] for e in calls.named("after")]
    report.equal("a suspended generator calls nothing", callers, ["work", "numbers", "numbers"])


def coroutines(report):
    calls = record(lambda: asyncio.run(tasks()))
    report.equal("coroutines nest", calls.faults(), [])
    report.equal("each task goes on", [calls.parent(e)["name"].split(": ")[1] for e in calls.named("after")], ["step"] * 5)
    report.equal("each begins and goes on once", len(calls.named("step")), 10)


def inside(n):
    if n:
        inside(n - 1)
    else:
        _tracer.stop()
        after()


def deep_stop(report):
    with session():
        _tracer.start()
        inside(50)
        after()
    calls = saved()
    report.equal("stop deep inside: calls", len(calls.named("inside")), 51)
    report.equal("stop deep inside: nothing after it", calls.named("after"), [])
    report.equal("stop deep inside: all have ended", calls.faults(), [])


def begin_inside(n, then):
    if n:
        begin_inside(n - 1, then)
        return
    _tracer.start()
    after()
    if then:
        then()


def deep_start(report):
    for depth in (20, 400):
        with session():
            begin_inside(depth, None)
            after()
            _tracer.stop()
        calls = saved()
        first = min(e["ts"] for e in calls.all)
        older = [e for e in calls.all if e["ts"] == first]
        report.equal(f"start below {depth} calls: those are there", len(calls.named("begin_inside")), min(depth + 1, 128))
        report.check(f"start below {depth} calls: they began together", len(older) >= min(depth + 1, 128), len(older))
        report.equal(f"start below {depth} calls: they nest", calls.faults(), [])


def collections(report):
    def work():
        gc.collect()
        after()
        gc.collect()

    calls = record(work)
    report.check("collections are spans", len(calls.collections) >= 2, len(calls.collections))
    report.equal("collections nest", calls.faults(), [])
    report.equal("collections left out", record(work, gc=False).collections, [])


def greenlets(report):
    try:
        import greenlet  # noqa: PLC0415 (where it is installed)
    except ImportError:
        print("not tested: greenlets (greenlet is not installed)")
        return

    def there():
        for _ in range(3):
            after()
            back.switch()

    def here():
        while True:
            after()
            forth.switch()

    def work():
        forth.switch()
        after()

    forth, back = greenlet.greenlet(there), greenlet.greenlet(here)
    calls = record(work)
    report.equal("greenlets nest", calls.faults(), [])
    report.equal("greenlets: calls", len(calls.named("after")), 7)
    report.equal("afterwards the caller is right", calls.parent(calls.named("after")[-1])["name"].split(": ")[1], "work")


def run(report):
    for part in (recursion, exceptions, generators, coroutines, deep_stop, deep_start, collections, greenlets):
        part(report)
