"""HTA's recorded call graphs and critical paths through kino.hta: trees, graphs, breakdowns, overlays, saved graphs."""
import collections
import importlib.util
import os

from kino.hta.common.call_stack import CallGraph as OldCallGraph
from kino.hta.common.trace_call_graph import CallGraph
from kino.hta.configs.env_options import HTAEnvOptions

from .hta_answers import events_of, relative
from .hta_compare import check_facts, check_table, close, parts, plain

PREFIX = "critical_path_"
HAS_NETWORKX = importlib.util.find_spec("networkx") is not None
OVERLAYS = {"critical_only": (True, False), "all_events_default_edges": (False, False), "all_events_all_edges": (False, True)}


def check_rows(report, what, frame, golden, relative_):
    """The rows that are recorded, by their index."""
    wanted = frame.set_index("index", drop=False).loc[[row[0] for row in golden["rows"]], golden["columns"]]
    check_table(report, what, wanted, {"columns": golden["columns"], "rows": golden["rows"]}, relative_)


def check_call_stacks(report, subject, want):
    OldCallGraph(subject.analysis.t)
    for rank, golden in parts(want):
        frame, what = subject.analysis.t.get_trace(int(rank)), f"{subject.name}: older call stacks of rank {rank}"
        mine = {f"sum_{column}": plain(frame[column].sum()) for column in ("depth", "parent")}
        check_facts(report, what, mine, {name: golden[name] for name in mine})
        check_rows(report, what, frame, golden, 1e-8)


def check_call_graph(report, subject, want, left_out=()):
    """left_out: sums that depend on the order of rows with equal times."""
    if not parts(want):
        return
    graph = CallGraph(subject.analysis.t)
    for rank, golden in parts(want):
        what, frame = f"{subject.name}: calls of rank {rank}", subject.analysis.t.get_trace(int(rank))
        stacks = graph.mapping[graph.mapping["rank"].eq(int(rank))]
        check_table(report, f"{what}: threads", stacks[golden["stacks"]["columns"]], golden["stacks"])
        sums = {column: plain(frame[column].sum()) for column in golden["sum"]}
        check_facts(report, f"{what}: sums", sums, {name: value for name, value in golden["sum"].items() if name not in left_out},
                    relative(subject))
        report.equal(f"{what}: deepest", [int(frame[column].max()) for column in ("depth", "height")], [golden["max_depth"], golden["max_height"]])
        check_rows(report, what, frame, golden, relative(subject))


def graph_facts(graph, is_ok):
    """What is recorded of a graph, as HTA's objects have it."""
    edges = [data["object"] for _, _, data in graph.edges(data=True)]
    path, breakdown = graph.critical_path_edges_set, graph.get_critical_path_breakdown()
    counts = collections.Counter(edge.type.value for edge in edges)
    return {"success": is_ok, "num_nodes_created": len(graph.node_list), "num_graph_nodes": graph.number_of_nodes(),
            "num_edges": graph.number_of_edges(), "clipped_events": len(graph.trace_df), "edges_by_type": dict(counts),
            "weight_by_type": {kind: sum(edge.weight for edge in edges if edge.type.value == kind) for kind in counts},
            "critical_path_length_nodes": len(graph.critical_path_nodes), "critical_path_total_weight": sum(edge.weight for edge in path),
            "critical_events": len(graph.critical_path_events_set), "summary_pct": graph.summary().to_dict(),
            "breakdown_us_by_bound": breakdown.groupby("bound_by")["duration"].sum().to_dict(), "critical_path_nodes": graph.critical_path_nodes}


def overlay_facts(path):
    events = events_of(path)
    flows = [event for event in events if event.get("cat") == "critical_path"]
    ends = [event for event in flows if event["ph"] == "f"]
    durations = [event for event in events if event.get("ph") == "X"]
    return {"file": os.path.basename(path), "events": len(events), "flow_events": len(flows), "X_events": len(durations),
            "X_critical": sum(event.get("args", {}).get("critical") == 1 for event in durations),
            "flow_by_type": dict(collections.Counter(event["args"]["type"] for event in ends)),
            "flow_critical": sum(bool(event["args"]["critical"]) for event in ends)}, flows


def flow_rows(flows):
    """Arrows as they are recorded: type, weight, both ends. They come in the order of a set."""
    starts = {event["id"]: event for event in flows if event["ph"] == "s"}
    return ([event["args"]["type"].removeprefix(PREFIX), event["args"]["weight"], *(starts[event["id"]][key] for key in ("pid", "tid", "ts")),
                   *(event[key] for key in ("pid", "tid", "ts"))] for event in flows if event["ph"] == "f")


def check_overlays(report, what, subject, graph, want):
    for which, facts in want.items():
        only_critical, all_edges = OVERLAYS[which]
        folder = os.path.abspath(f"overlay-{subject.case.name}-{subject.folder}-{which}")
        path = subject.analysis.overlay_critical_path_analysis(graph.rank, graph, folder, only_critical, all_edges)
        mine, flows = overlay_facts(path)
        check_facts(report, f"{what}: {which}", mine, {name: value for name, value in facts.items() if name != "flows"})
        if "flows" in facts:  # at most some hundreds are recorded
            missing = collections.Counter(map(tuple, facts["flows"])) - collections.Counter(map(tuple, flow_rows(flows)))
            report.equal(f"{what}: {which}: arrows that are missing", list(missing)[:2], [])


def check_graph(report, what, graph, want, relative_):
    """Every node and edge."""
    nodes = [[node.idx, node.ev_idx, plain(node.ts), node.is_start, node.is_blocking] for node in graph.node_list]
    edges = sorted([edge.begin, edge.end, edge.type.value.removeprefix(PREFIX), edge.weight, graph.get_event_attribution_for_edge(edge)]
                   for edge in (data["object"] for _, _, data in graph.edges(data=True)))
    for name, mine, theirs in (("nodes", nodes, want["nodes"]["rows"]), ("edges", edges, sorted(want["edges"]["rows"], key=lambda row: row[:3]))):
        report.equal(f"{what}: {name}", len(mine), len(theirs))
        wrong = [pair for pair in zip(mine, theirs) if not all(close(cell, other, relative_) for cell, other in zip(*pair))]
        report.equal(f"{what}: {name}: different ones", wrong[:2], [])


def is_ordered_by_noise(graph, request):
    """Times that are equal in ns are not in doubles: HTA's order of such nodes is one of rounding errors, and so are its edges. The nodes
    are the same then, and integer_ns has the graph of exact times."""
    theirs = [[event, is_start, round(ts * 1000)] for _, event, ts, is_start, _ in request["nodes"]["rows"]]
    mine = [[node.ev_idx, node.is_start, round(node.ts * 1000)] for node in graph.node_list]
    return mine != theirs and sorted(mine) == sorted(theirs) and [row[2] for row in mine] == [row[2] for row in theirs]


def check_saved(report, what, subject, graph):
    """What is saved and restored is the same graph."""
    from kino.hta.analyzers.critical_path_analysis import restore_cpgraph
    again = restore_cpgraph(graph.save(os.path.abspath(f"saved-{subject.case.name}-{subject.folder}")), subject.analysis.t, graph.rank)
    report.check(f"{what}: saved and restored", dict(again.edges) == dict(graph.edges) and again.node_list == graph.node_list and
                 again.critical_path_nodes == graph.critical_path_nodes and again.edge_to_event_map == graph.edge_to_event_map)
    if not graph.data_load_events:  # not in the files, as with HTA
        report.check(f"{what}: its summary", again.summary().equals(graph.summary()))


def ask(subject, request):
    options, instance = HTAEnvOptions.instance(), request["instance_id"]
    options.set_critical_path_add_zero_weight_launch_edges(request["add_zero_weight_launch_edges"])
    got = subject.analysis.critical_path_analysis(request["rank"], request["annotation"], tuple(instance) if isinstance(instance, list) else instance,
                                                  request.get("data_load_events"))
    options.set_critical_path_add_zero_weight_launch_edges(False)
    return got


def describe(subject, request):
    zero = ", zero edges" if request["add_zero_weight_launch_edges"] else ""
    return f"{subject.name}: '{request['annotation'][:24]}' {request['instance_id']}{zero}"


def check_critical_path(report, subject, want, left_out=()):
    """left_out: facts that depend on the order of rows with equal times."""
    if not HAS_NETWORKX:
        report.skipped += 1
        print(f"NOT TESTED: {subject.name}: critical paths need networkx (tools/install-hta)")
        return
    noisy = set()
    for number, request in enumerate(want):
        what = describe(subject, request)
        graph, is_ok = ask(subject, request)
        mine = graph_facts(graph, is_ok)
        region = (request["rank"], request["annotation"], str(request["instance_id"]))
        if subject.is_exact and (region in noisy or ("nodes" in request and is_ordered_by_noise(graph, request))):
            noisy.add(region)  # also of the request with other edges, whose nodes are not recorded
            check_facts(report, what, mine, {name: request[name] for name in ("success", "num_nodes_created", "clipped_events")})
            report.check(f"{what}: its graph is among those of exact ns", any(
                (one["rank"], one["annotation"], str(one["instance_id"])) == region for one in subject.golden("integer_ns")["critical_path"]))
            continue
        facts = {name: request[name] for name in mine if name in request and name not in left_out}
        check_facts(report, what, mine, facts, relative(subject))
        if "edges" in request:
            check_graph(report, what, graph, request, relative(subject))
        if "overlay" in request and not left_out:
            check_overlays(report, what, subject, graph, request["overlay"])
        if number == 0 and not left_out:
            check_saved(report, what, subject, graph)


def check_integer_path(report, subject, want):
    """In ns; what a graph of microseconds with fractions keeps of them."""
    for request in want if HAS_NETWORKX else []:
        what = f"{describe(subject, request)}: integer ns"
        graph, is_ok = ask(subject, request)
        edges = [data["object"] for _, _, data in graph.edges(data=True)]
        weights = collections.Counter()
        for edge in edges:
            weights[edge.type.value.removeprefix(PREFIX)] += round(edge.weight * 1000)
        mine = {"ok": is_ok, "clipped_events": len(graph.trace_df), "nodes": len(graph.node_list), "graph_nodes": graph.number_of_nodes(),
                "edges_by_type": dict(collections.Counter(edge.type.value.removeprefix(PREFIX) for edge in edges)), "weight_by_type": dict(weights),
                "path_nodes": len(graph.critical_path_nodes), "path_weight": sum(round(edge.weight * 1000) for edge in graph.critical_path_edges_set)}
        check_facts(report, what, mine, {name: request[name] for name in mine}, 1e-12)
