#!/usr/bin/env python3
"""Does `kino report` conclude what is true? Runs with a known truth (`kino demo --plant`) in all kinds, sizes and looks: the
headline, the first advice, who is accused and of what, the gain. And the report, SQL and HTTP say the same of each run.

Expected values come from the truth that the generator writes, never from an answer. KINO_PLANTED_SEEDS=40 tries 40 seeds of
each kind (default 9, in make test-all 40), KINO_PLANTED_FIRST=100 begins with seed 100, KINO_PLANTED_KINDS=gloo,nested takes only these,
KINO_PLANTED_KEEP=DIR keeps the runs that fail."""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, serve  # noqa: E402

KINDS = re.findall(r'^PLANT\(\w+, "([\w-]+)"', (common.ROOT / "src/demo/plant_kinds.def").read_text(), re.M)
SEEDS = int(os.environ.get("KINO_PLANTED_SEEDS", "40" if os.environ.get("KINO_TIER") == "all" else "9"))
FIRST = int(os.environ.get("KINO_PLANTED_FIRST", "1"))
LEAST_OF_ALL, LEAST_OF_KIND = 0.98, 0.95

# What is said of a slow rank, and the rules that may come first where something limits the whole run.
CAUSES = {"kernels": "its kernels", "loader": "its data loader", "host": "its host", "copies": "its copies"}
RULES = {
    "loader": {"data-loading", "synchronous-loader"},
    "pointwise": {"pointwise-kernels"},
    "launches": {"launch-bound"},
    "communication": {"communication", "exposed-collective"},
    "synchronization": {"host-sync"},
    "copies": {"pageable-copy"},
}
ACCUSED = re.compile(r"\b[Rr]anks? (\d+(?:(?:, | and )\d+)*) (?:is|are) the slowest")
# Other ways to point at a rank: none of them may appear where nobody is slow.
POINTED = re.compile(r"computes? longest|is slower than the others|keeps? the others waiting|straggl", re.I)
HARMLESS = re.compile(r"no rank delays the others|no straggler", re.I)
GAIN_SHARE, GAIN_POINTS = 0.35, 3.0
# Host and device do not begin and end a step at the same moment; both are noisy.
STEP_SHARE = 0.06


def step_time(truth):
    """Mean over all steps of all ranks, in ns."""
    return sum(r["step_time"] for r in truth["of_ranks"]) / sum(r["steps"] for r in truth["of_ranks"])


def texts_of(answer):
    """Every sentence of the report, the headline's first."""
    yield from (s["text"] for s in answer["report"]["summary"])
    for found in answer["recommendations"]:
        yield from (found[key] for key in ("title", "seen", "why"))


def judge_accusation(truth, answer):
    """Right rank and right cause, or nobody."""
    said = [(m[1], s["text"]) for s in answer["report"]["summary"] for m in ACCUSED.finditer(s["text"])]
    if truth["straggler"] is None:
        if said:
            yield f"accuses rank {said[0][0]}: {said[0][1]}"
        for text in texts_of(answer):
            if POINTED.search(HARMLESS.sub("", text)):
                yield f"points at a rank: {text}"
        if any(found["rule"] == "straggler" for found in answer["recommendations"]):
            yield "the rule 'straggler' speaks"
        return
    named = {rank for rank, _ in said}
    if named != {str(truth["straggler"])}:
        yield f"rank {truth['straggler']} is the slowest; the headline names {' and '.join(named) or 'nobody'}"
        return
    words = CAUSES[truth["cause"]]
    if words not in said[0][1]:
        yield f"the cause is {words!r}; the headline says: {said[0][1]}"


def wanted_rules(truth):
    if truth["straggler"] is not None:
        return {"straggler"}
    return RULES.get(truth["limit"])


def wanted_gain(truth):
    """In percent of the step, where the plant says it."""
    if truth["straggler"] is not None:
        return 100 * truth["gain_ns"] / step_time(truth)
    return 100 * truth["excess_ns"] / step_time(truth) if truth["limit"] in ("loader", "copies") else None


def judge_advice(truth, answer):
    found, rules = answer["recommendations"], wanted_rules(truth)
    if rules is None:
        return
    if not found or found[0]["rule"] not in rules:
        yield f"first advice is {found[0]['rule'] if found else None} ({found and found[0]['seen']}), not {' or '.join(sorted(rules))}"
        return
    if truth["straggler"] is not None and found[0]["ranks"] != [truth["straggler"]]:
        yield f"the finding is about ranks {found[0]['ranks']}"
    gain, wanted = found[0]["gain_percent"], wanted_gain(truth)
    if wanted is not None and (gain is None or abs(gain - wanted) > max(GAIN_SHARE * wanted, GAIN_POINTS)):
        yield f"gain {gain}, planted {wanted:.1f} % of the step"


def judge_numbers(truth, answer):
    """Steps and ranks of the run are those that were written."""
    report, wanted = answer["report"], step_time(truth)
    # The truth is the host's; without synchronization, the device ends the last step up to one step of work later, which counts.
    behind = 0 if truth["has_sync"] or truth["is_cpu"] else truth["compute_ns"] / truth["steps"]
    if report["step"] is None or abs(report["step"]["time"] - wanted) > STEP_SHARE * wanted + behind:
        yield f"a step takes {report['step'] and report['step']['time']}, truly {wanted:.0f}"
    ranks = {r["name"]: r["time"] for r in report["ranks"]}
    for rank in truth["of_ranks"] if truth["ranks"] > 1 else ():
        mean, said = rank["step_time"] / rank["steps"], ranks.get(f"rank {rank['rank']}")
        if said is None or abs(said - mean) > STEP_SHARE * mean + behind:
            yield f"rank {rank['rank']} takes {said} per step, truly {mean:.0f}"
    if truth["ranks"] > 1 and len(ranks) != truth["ranks"]:
        yield f"{len(ranks)} ranks, truly {truth['ranks']}"


def judge(truth, answer):
    if not truth["is_certain"]:  # too close to the threshold to be sure
        return [*judge_numbers(truth, answer)]
    return [*judge_accusation(truth, answer), *judge_advice(truth, answer), *judge_numbers(truth, answer)]


# -- the same on all pages --

SQL = """SELECT 'finding', rule, gain_percent, ranks, seen FROM recommendations
UNION ALL SELECT 'summary', rank, category, time, percentage FROM overview_execution_summary
UNION ALL SELECT 'distributed', rank, step, computation, communication FROM distributed"""


def rows_of(answer, analysis, table, *names):
    for result in answer["results"]:
        for found in result["tables"]:
            if (result["analysis"], found["name"]) == (analysis, table):
                columns = [c["name"] for c in found["columns"]]
                return [tuple(row[columns.index(n)] for n in names) for row in found["rows"]]
    return []


def sql_of(answer):
    """What SQL must say, from the report."""
    rows = [("finding", *row) for row in rows_of(answer, "recommendations", "recommendations", "rule", "gain_percent", "ranks", "seen")]
    rows += [("summary", *row) for row in rows_of(answer, "overview", "execution_summary", "rank", "category", "time", "percentage")]
    rows += [("distributed", *row) for row in rows_of(answer, "distributed", "computation_overview", "rank", "step", "computation", "communication")]
    return rows


def plain(value):
    """Comparable whatever the page: JSON within SQL is text."""
    if isinstance(value, str) and value[:1] == "[":
        value = json.loads(value)
    return tuple(value) if isinstance(value, list) else round(value, 6) if isinstance(value, float) else value


def compare_sql(answer, rows):
    want, got = ([tuple(map(plain, row)) for row in side] for side in (sql_of(answer), rows))
    if want != got:
        different = [pair for pair in zip(want, got) if pair[0] != pair[1]] or [(len(want), len(got))]
        yield f"SQL differs from the report: {different[0]}"


def compare_http(answer, other):
    """Everything but where it was read from."""
    for key in ("summary", "step", "ranks", "steps", "sections", "facts", "notes"):
        if answer["report"].get(key) != other["report"].get(key):
            yield f"HTTP differs from the report: {key}: {str(other['report'].get(key))[:200]}, not {str(answer['report'].get(key))[:200]}"
    for key in ("recommendations", "results"):
        if strip(answer[key]) != strip(other[key]):
            yield f"HTTP differs from the report: {key}"


def strip(value):
    if isinstance(value, list):
        return [strip(v) for v in value]
    return {k: strip(v) for k, v in value.items() if k != "input"} if isinstance(value, dict) else value


def compare_pages(truth, answer):
    """What two tables of the report say of one thing: the step time of a rank, its exposed communication."""
    summary = {(rank, what): time for rank, what, time in rows_of(answer, "overview", "execution_summary", "rank", "category", "time")}
    parts = {r["name"]: {p["name"]: p["time"] for p in r["parts"]} | {"time": r["time"]} for r in answer["report"]["ranks"]}
    exposed = {rank: communication for rank, step, communication in
               rows_of(answer, "distributed", "computation_overview", "rank", "step", "communication") if step == "all"}
    for rank in range(truth["ranks"] if truth["ranks"] > 1 else 0):
        mine = parts.get(f"rank {rank}", {})
        for what, one, two in (("step time", summary.get((rank, "Average Step Time")), mine.get("time")),
                               ("communication", summary.get((rank, "Communication")), mine.get("Communication"))):
            if one is None or two is None or abs(one - two) > 1:
                yield f"{what} of rank {rank}: {one} and {two}"
        # one is what no kernel covers, the other what neither kernels nor copies do
        of_rank, two = truth["of_ranks"][rank], mine.get("Communication", 0)
        one, copies = exposed.get(rank, two), of_rank["copy_time"] / of_rank["steps"]
        if not two - 1 <= one <= two + copies + 1:
            yield f"exposed communication of rank {rank}: {one} and {two}, copies take {copies:.0f}"


# -- running --

def make(folder, kind, seed):
    run, truth = folder / f"{kind}-{seed}", folder / f"{kind}-{seed}.truth"
    done = common.run("demo", run, "--plant", kind, "--seed", seed, "--truth", truth, "--no-info", "--quiet")
    if done.returncode != 0:
        raise RuntimeError(f"kino demo --plant {kind} --seed {seed}: {done.stderr.decode()}")
    (run / ".kino-demo").unlink()
    return run, json.loads(truth.read_text())


def look(folder, kind, seed):
    """Wrong conclusions and differences between pages of one run."""
    run, truth = make(folder, kind, seed)
    done = common.run("report", run, "--format", "json", "--quiet", "--jobs", 1)
    if done.returncode != 0:
        return run, truth, None, [f"kino report: {done.stderr.decode()[:300]}"], []
    answer = json.loads(done.stdout)
    asked = common.run("query", run, SQL, "--format", "json", "--quiet", "--jobs", 1)
    rows = json.loads(asked.stdout)["tables"][0]["rows"] if asked.returncode == 0 else [asked.stderr.decode()]
    return run, truth, answer, judge(truth, answer), [*compare_sql(answer, rows), *compare_pages(truth, answer)]


def compare_served(folder, results):
    """The same runs again, by HTTP from one server."""
    with serve.Server(folder) as server:
        for result in results:
            if result["answer"] is None:
                continue
            answer = server.get("report", run=result["run"].name)
            if answer.status != 200:
                result["differences"].append(f"HTTP answers {answer.status}: {answer.body[:200]}")
            else:
                result["differences"].extend(compare_http(result["answer"], answer.json()))


def run_all(folder, kinds):
    jobs = [(kind, seed) for seed in range(FIRST, FIRST + SEEDS) for kind in kinds]
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        looked = list(pool.map(lambda job: look(folder, *job), jobs))
    results = [{"kind": kind, "seed": seed, "run": run, "truth": truth, "answer": answer, "wrong": wrong, "differences": differences}
               for (kind, seed), (run, truth, answer, wrong, differences) in zip(jobs, looked)]
    compare_served(folder, results)
    return results


def show(results):
    right, of = collections.Counter(), collections.Counter()
    for result in results:
        of[result["kind"]] += 1
        right[result["kind"]] += not result["wrong"]
        for wrong in result["wrong"][:3]:
            print(f"WRONG {result['kind']} {result['seed']}: {wrong}")
        for difference in result["differences"][:3]:
            print(f"DIFFERS {result['kind']} {result['seed']}: {difference}")
    for kind in of:
        print(f"{kind:20} {right[kind]:3} of {of[kind]}")
    return right, of


def keep(results, place):
    for result in results if place else ():
        if result["wrong"] or result["differences"]:
            shutil.copytree(result["run"], pathlib.Path(place) / result["run"].name, dirs_exist_ok=True)


def conclude(results, kinds):
    """Enough of all runs and of each kind are judged right, and all pages agree on each; the exit code."""
    report = common.Report()
    right, of = show(results)
    total = sum(right.values()) / sum(of.values())
    print(f"{sum(right.values())} of {sum(of.values())} right")
    report.check(f"at least {LEAST_OF_ALL:.0%} of all runs are judged right", total >= LEAST_OF_ALL, f"{total:.1%}")
    for kind in kinds:
        report.check(f"{kind}: at least {LEAST_OF_KIND:.0%} are judged right", right[kind] >= LEAST_OF_KIND * of[kind], f"{right[kind]} of {of[kind]}")
    for result in results:
        report.check(f"{result['kind']} {result['seed']}: all pages say the same", not result["differences"], "; ".join(result["differences"][:2]))
    return report.finish()


def main():
    kinds = [k for k in os.environ.get("KINO_PLANTED_KINDS", ",".join(KINDS)).split(",") if k]
    with tempfile.TemporaryDirectory() as folder:
        results = run_all(pathlib.Path(folder), kinds)
        keep(results, os.environ.get("KINO_PLANTED_KEEP"))
    return conclude(results, kinds)


if __name__ == "__main__":
    sys.exit(main())
