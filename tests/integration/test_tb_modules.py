#!/usr/bin/env python3
"""kino analyze modules and lightning --compat tensorboard against the recorded answers of the plugin; what the default changes."""
import json
import pathlib
import sys
import tempfile

from support import common, tensorboard

NUMBERS = ("operators", "host_duration", "self_host_duration", "device_duration", "self_device_duration", "avg_duration")


def tree(rows):
    """Our rows as the plugin nests them, times in microseconds."""
    nodes, roots = {}, []
    for row in rows:
        node = {"name": row["name"], "id": row["module_id"], "occurences": row["occurrences"], "children": []}
        for name in NUMBERS:
            node[name] = row[name] if name == "operators" else row[name] / 1000
        total = node["device_duration"] if node["device_duration"] > 0 else node["host_duration"]
        if abs(node["avg_duration"] - total / row["occurrences"]) < 0.00051:  # ours is to the ns
            node["avg_duration"] = total / row["occurrences"]
        nodes[row["id"]] = node
        (roots if row["parent"] is None else nodes[row["parent"]]["children"]).append(node)
    return roots


def differs(got, want, is_exact, path="top"):
    """Where two forests differ; empty when they do not."""
    work = [(got, want, path)]
    while work:
        mine, theirs, at = work.pop()
        if [(n["name"], n["id"]) for n in mine] != [(n["name"], n["id"]) for n in theirs]:
            return f"{at}: {[n['name'] for n in mine]}, want {[n['name'] for n in theirs]}"
        for a, b in zip(mine, theirs):
            for key in NUMBERS + ("occurences",):
                if not tensorboard.close(a[key], b[key], is_exact, 2):
                    return f"{at}/{a['name']} {key}: {a[key]}, want {b[key]}"
            work.append((a["children"], b["children"], f"{at}/{a['name']}"))
    return ""


def by_name(roots):
    """The order of roots with equal names is open."""
    return sorted(roots, key=lambda node: (node["name"], node["id"], json.dumps(node, sort_keys=True)))


def actions(rows):
    nodes, roots = {}, []
    for row in rows:
        node = {"name": row["name"], "length": row["duration"], "tid": row["tid"], "start": row["start"], "children": []}
        nodes[row["id"]] = node
        (roots if row["parent"] is None else nodes[row["parent"]]["children"]).append(node)
    return roots


def plugin_actions(node, first):
    return [{"name": child["name"], "length": (child["end_time"] - child["start_time"]) * 1000, "tid": child["tid"],
             "start": (child["start_time"] - first) * 1000, "children": plugin_actions(child, first)} for child in node["children"]]


def shift(nodes, by):
    for node in nodes:
        node["start"] -= by
        shift(node["children"], by)
    return nodes


def check_profile(report, profile):
    want = profile.golden("module")
    if want is None:
        report.equal(f"{profile.name}: no modules", profile.analyze("modules")["modules"], [])
        return 0
    is_lightning = "lightning" in profile.run
    is_exact = not profile.run.startswith("real_")
    tables = profile.analyze("lightning" if is_lightning else "modules")
    got = tree(tables["lightning" if is_lightning else "modules"])
    problem = differs(by_name(got), by_name(want["data"]), is_exact)
    report.check(f"{profile.name} module", not problem, problem)
    if is_lightning:
        root = profile.golden("tree")
        mine = actions(tables["lightning_actions"])
        report.equal(f"{profile.name} actions", shift(mine, mine[0]["start"]), plugin_actions(root, root["start_time"]))
        report.equal(f"{profile.name}: no other modules", profile.analyze("modules")["modules"], [])
    return 1


def check_default(report, profile):
    """Where no module is called in two places, the default says what the plugin says, but for defects of device and host times."""
    if profile.golden("module") is None or "lightning" in profile.run:
        return
    ours, theirs = (tree(profile.analyze("modules", compat=compat)["modules"]) for compat in (False, True))
    work = [(ours, theirs)]
    while work:
        mine, plugin = work.pop()
        report.equal(f"{profile.name}: modules", [(n["name"], n["id"], n["occurences"], n["operators"], n["host_duration"]) for n in mine],
                     [(n["name"], n["id"], n["occurences"], n["operators"], n["host_duration"]) for n in plugin])
        work.extend((a["children"], b["children"]) for a, b in zip(mine, plugin))


def check_unit(report, folder):
    if not report.has(tensorboard.GOLDEN / "unit"):
        return
    case = json.loads((tensorboard.GOLDEN / "unit/build_module_hierarchy.json").read_text())
    path = pathlib.Path(folder) / "worker0.pt.trace.json"
    path.write_text(json.dumps(case["workers"][0]["trace"]), encoding="utf-8")
    want = case["expected"]["worker0"]["module"]
    for compat in (("--compat", "tensorboard"), ()):
        problem = differs(tree(tensorboard.analyze([path], "modules", *compat)["modules"]), want, True)
        report.check(f"build_module_hierarchy {compat}", not problem, problem)


def module(name, number, start, length, python_id, parent):
    return {"ph": "X", "cat": "python_function", "name": f"nn.Module: {name}", "pid": 1, "tid": 1, "ts": start, "dur": length,
            "args": {"Python id": python_id, "Python parent id": parent, "Python module id": number}}


def check_places(report, folder):
    """A (0-100) calls S twice (10-20, 30-45); B (200-300) calls the same S once (210-240). The plugin shows S three times with the
    sums of all three calls; the default shows it once below A with 25 us and once below B with 30 us."""
    events = [module("A", 1, 0, 100, 1, 0), module("S", 7, 10, 10, 2, 1), module("S", 7, 30, 15, 3, 1),
              module("B", 2, 200, 100, 4, 0), module("S", 7, 210, 30, 5, 4)]
    path = pathlib.Path(folder) / "places.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    shape = lambda rows: [(row["depth"], row["name"], row["occurrences"], row["host_duration"]) for row in rows]
    plugin = tensorboard.analyze([path], "modules", "--compat", "tensorboard")["modules"]
    report.equal("shared module, compat", shape(plugin), [(0, "A", 1, 100000), (1, "S", 3, 55000), (1, "S", 3, 55000),
                                                         (0, "B", 1, 100000), (1, "S", 3, 55000)])
    ours = tensorboard.analyze([path], "modules")["modules"]
    report.equal("shared module, default", shape(ours), [(0, "A", 1, 100000), (1, "S", 2, 25000), (0, "B", 1, 100000), (1, "S", 1, 30000)])


def main():
    report, count = common.Report(), 0
    for profile in tensorboard.profiles():
        count += check_profile(report, profile)
        check_default(report, profile)
    report.check("profiles with modules were found", count >= 6, f"only {count}")
    with tempfile.TemporaryDirectory() as folder:
        check_unit(report, folder)
        check_places(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
