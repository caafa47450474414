"""Stacks of a trace, slowly and obviously, from its JSON: what the speedscope and collapsed writers must agree with. The
definitions are in docs/formats/speedscope.md and docs/formats/collapsed.md."""
import collections
import json
import random
from decimal import Decimal

PYTHON = {"python_function", "Python"}
Span = collections.namedtuple("Span", "name start end category")


def spans_by_track(path):
    """(pid, tid) -> the spans, by start, longer first; times in ns."""
    document = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    tracks = collections.defaultdict(list)
    for event in document if isinstance(document, list) else document["traceEvents"]:
        if event.get("ph") != "X":
            continue
        start, length = Decimal(event["ts"]) * 1000, Decimal(event["dur"]) * 1000
        assert start == int(start) and length == int(length), f"{path}: digits below a nanosecond"
        span = Span(event["name"], int(start), int(start) + int(length), event.get("cat"))
        tracks[event["pid"], event["tid"]].append(span)
    return {track: sorted(spans, key=lambda s: (s.start, -s.end)) for track, spans in tracks.items()}


def chosen(spans, kind):
    return [s for s in spans if kind == "combined" or (s.category in PYTHON) == (kind == "python")]


def has_ended(span, start):
    return span.end <= start and span.start != start


def lanes_of(spans):
    """Lists of spans, strictly nested each."""
    lanes, opened, lane_of = [], [], {}
    for i, span in enumerate(spans):
        opened = [k for k in opened if not has_ended(spans[k], span.start)]
        around = [k for k in opened if spans[k].end >= span.end]
        lane = None
        if around:
            parent = around[-1]
            standing = [k for k in opened if lane_of[k] == lane_of[parent]]
            lane = lane_of[parent] if standing[-1] == parent else None
        if lane is None:
            taken = {lane_of[k] for k in opened}
            lane = next(n for n in range(len(lanes) + 1) if n not in taken)
        if lane == len(lanes):
            lanes.append([])
        lane_of[i] = lane
        lanes[lane].append(span)
        opened.append(i)
    return lanes


def stacks_of(lane):
    """(stack of names, own time) of each span of a lane."""
    opened, found = [], []
    for span in lane:
        while opened and has_ended(opened[-1][0], span.start):
            opened.pop()
        if opened:
            assert opened[-1][0].end >= span.end, "the lane is not nested"
            found[opened[-1][1]][1] -= span.end - span.start
        opened.append((span, len(found)))
        found.append([tuple(s.name for s, _ in opened), span.end - span.start])
    return found


def write_overlapping(path, seed, count=400):
    """Random spans on few threads: nested, overlapping, touching, equal, without length."""
    rng = random.Random(seed)
    events = []
    for i in range(count):
        events.append({"ph": "X", "pid": 1, "tid": rng.randrange(3), "ts": rng.randrange(200), "dur": rng.choice([0, 1, 2, 5, 10, 40]),
                       "name": f"n{rng.randrange(9)}", "cat": rng.choice(["cpu_op", "python_function", "user_annotation"])})
    path.write_text(json.dumps(events), encoding="utf-8")
