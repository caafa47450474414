"""The recorded answers of the TensorBoard plugin beside the traces they were made from."""
import gzip
import json
import re

from support import common

GOLDEN = common.SHARED / "golden/tensorboard"
TRACES = common.SHARED / "traces/tb"


class Profile:
    """One worker and span of a run: its trace and the folder of its answers."""

    def __init__(self, run, trace, folder, worker, span):
        self.run, self.trace, self.folder, self.worker, self.span = run, trace, folder, worker, span
        self.name = f"{run}/{folder.name}"

    def golden(self, name):
        """A recorded answer, or None where the plugin had none. `name` without .json."""
        for path, read in ((self.folder / f"{name}.json", open), (self.folder / f"{name}.json.gz", gzip.open)):
            if path.exists():
                with read(path, "rb") as file:
                    return json.loads(file.read())
        return None

    def analyze(self, analysis, *arguments, compat=True):
        """The tables of an analysis by name, each a list of rows as dictionaries."""
        return analyze([self.trace], analysis, *arguments, *(("--compat", "tensorboard") if compat else ()))


def analyze(paths, analysis, *arguments):
    done = common.run("analyze", analysis, *paths, *arguments, "--format", "json", "--quiet")
    if done.returncode != 0:
        raise RuntimeError(f"kino analyze {analysis} {paths[0]}: {done.stderr.decode('utf-8', 'replace')[:300]}")
    answer = json.loads(done.stdout)
    return {table["name"]: [dict(zip((column["name"] for column in table["columns"]), row)) for row in table["rows"]]
            for table in answer["tables"]}


def split_name(path):
    """Worker and digits of <worker>[.<digits>].pt.trace.json[.gz]; digits are None where there are none."""
    found = re.fullmatch(r"(.*?)(?:\.(\d+))?\.pt\.trace\.json(?:\.gz)?", path.name)
    return found.groups() if found else (path.name, None)


def profiles():
    """All profiles that have answers; the script is skipped where the folder is absent."""
    if not GOLDEN.is_dir() or not TRACES.is_dir():
        common.skip("../shared/golden/tensorboard or ../shared/traces/tb is absent: nothing to compare with")
    for folder in sorted(TRACES.glob("**/")):
        files = sorted(path for path in folder.glob("*.pt.trace.json*"))
        digits = {}
        for path in files:
            worker, stamp = split_name(path)
            digits.setdefault(worker, []).append(stamp)
        for path in files:
            worker, stamp = split_name(path)
            span = "default" if stamp is None else str(sorted(s for s in digits[worker] if s).index(stamp) + 1)
            run = folder.relative_to(TRACES)
            answers = GOLDEN / run / f"{worker}.span{span}"
            if answers.is_dir():
                yield Profile(str(run), path, answers, worker, span)


def distributed_runs():
    """(run, span, traces, folder of the answers) of runs that have the distributed view."""
    for answers in sorted(GOLDEN.glob("**/All.span*")):
        run = answers.parent.relative_to(GOLDEN)
        yield str(run), answers.name.removeprefix("All.span"), sorted((TRACES / run).glob("*.pt.trace.json*")), answers


def close(got, want, is_exact, places=None):
    """Numbers by the rules of the recorded answers: exact for traces of whole microseconds, else 1e-6 relative; a value
    rounded to `places` digits may differ by one in the last."""
    if got is None or want is None:
        return got is want
    if is_exact:
        return abs(got - want) <= 1e-9 * max(1.0, abs(want))
    return abs(got - want) <= max(1e-6 * abs(want), 1.01 * 10 ** -places if places is not None else 0)
