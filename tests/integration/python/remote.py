"""Traces in remote stores: fsspec's memory:// stands for all of them."""
import importlib.util
import io
import os
import pathlib
import subprocess
import sys

import kino
from kino import _remote

MISSING = """
import sys
sys.modules["fsspec"] = None
import kino
try:
    kino.open("s3://bucket/run")
except kino.UnavailableError as error:
    print(error.code, error.path, error.hint)
"""
USER = """
import sys, kino.{module} as remote, fsspec
fs = fsspec.filesystem("memory")
fs.pipe("/held/a.json", b"[]")
lease = remote.Lease("memory://held")
print("holds", flush=True)
sys.stdin.read()
"""


def put(fs, place, folder="demo-run"):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        fs.pipe(f"{place}/{path.name}", path.read_bytes())


def failure(call):
    try:
        call()
    except kino.Error as error:
        return error
    return None


def check_open(report, fs):
    put(fs, "/logs/run")
    fs.pipe("/logs/run/notes.txt", b"not a trace")
    with kino.open("demo-run") as local, kino.open("memory://logs/run") as remote:
        report.equal("a remote folder", (remote.ranks, [t.events for t in remote.traces]), (local.ranks, [t.events for t in local.traces]))
        folder = pathlib.Path(remote.traces[0].path).parent
        report.equal("only traces are downloaded", sorted(p.name for p in folder.iterdir()), ["rank-0.json", "rank-1.json"])
        server = remote.show()
        report.check("it can be shown", server.is_running())
        server.close()
    report.equal("a remote file", kino.open("memory://logs/run/rank-1.json").ranks, [1])
    report.equal("several", kino.open(["memory://logs/run/rank-0.json", "demo-run/rank-1.json"]).ranks, [0, 1])
    report.equal("file:// is here", kino.open(f"file://{os.path.abspath('demo-run')}").ranks, [0, 1])
    for url, kind in (("memory://nothing", kino.FileError), ("nosuchstore://x", kino.UnavailableError)):
        error = failure(lambda url=url: kino.open(url))
        report.check(f"{url}", isinstance(error, kind) and error.path == url and url in str(error), repr(error))
    fs.pipe("/empty/readme.txt", b"x")
    report.check("no traces there", isinstance(failure(lambda: kino.open("memory://empty")), kino.NotFoundError))


def check_changes(report, fs):
    place = kino.open("memory://logs/run").traces[0].path
    before = os.stat(place).st_mtime_ns
    kino.open("memory://logs/run")
    report.equal("what is there is not downloaded again", os.stat(place).st_mtime_ns, before)
    kino.demo("other-run", ranks=1, steps=2, seed=9)
    put(fs, "/logs/run", "other-run")
    with kino.open("other-run") as other, kino.open("memory://logs/run") as remote:
        report.equal("what has changed is", remote.traces[0].events, other.traces[0].events)
    fs.rm("/logs/run/rank-1.json")
    report.equal("what is gone goes", kino.open("memory://logs/run").ranks, [0])
    calls = []
    error = failure(lambda: kino.open("memory://logs/run/rank-0.json", progress=lambda *what: calls.append(what)))
    report.equal("progress is of the load only, all is there", (error, any("downloading" in what for what, _, _ in calls)), (None, False))
    put(fs, "/again")
    error = failure(lambda: kino.open("memory://again", progress=lambda what, done, total: "downloading" not in what))
    report.check("progress stops a download", isinstance(error, kino.CancelledError), repr(error))


def check_names(report, fs):
    """Names of objects are what others chose."""
    import fsspec
    evil_names = ["/evil/../../escaped.json", "/evil/a/../../../escaped.json", "/evil/ok.json", "/evil/a/ok.json"]

    class Evil(type(fs)):
        protocol = "evil"

        @classmethod
        def _strip_protocol(cls, path):
            return "/evil"

        def find(self, path, **_):
            return {name: {"size": 2} for name in evil_names}

        def isfile(self, path):
            return False

        def isdir(self, path):
            return True

        def open(self, path, mode="rb", **_):
            return io.BytesIO(b"[]")

    fsspec.register_implementation("evil", Evil)
    lease = _remote.Lease("evil://evil")
    report.equal("names that lead elsewhere are left out",
                 sorted(str(p.relative_to(lease.path)) for p in pathlib.Path(lease.path).rglob("*") if p.is_file()), ["a/ok.json", "ok.json"])
    names = [name for name in ("../x.json", "a/../../b.json", "/etc/x.json", "a//b.json", "./x.json", "a/b.json") if _remote._is_safe(name)]
    report.equal("only names below the folder are taken", names, ["a/b.json"])


def check_limit(report, fs):
    sizes = {"KINO_CACHE_SIZE": "12MB", "KINO_CACHE_DIR": os.path.abspath("small-cache")}
    before = {name: os.environ.get(name) for name in sizes}
    os.environ.update(sizes)
    for name in ("one", "two", "three"):
        fs.pipe(f"/{name}/a.json", b"[" + b" " * 5_000_000 + b"]")
        lease = _remote.Lease(f"memory://{name}")
        report.check(f"{name} is there", os.path.getsize(os.path.join(lease.path, "a.json")) == 5_000_002)
        del lease
    total = _remote._size_of("small-cache")
    report.check("the cache keeps its limit", total <= 12_000_000, str(total))
    homes = [_remote._read_list(entry.path) for entry in os.scandir("small-cache")]
    report.equal("the one not used for longest has gone", len(homes), 2)
    held = _remote.Lease("memory://two")
    fs.pipe("/four/a.json", b"[" + b" " * 5_000_000 + b"]")
    _remote.Lease("memory://four")
    report.check("what is used stays", os.path.exists(os.path.join(held.path, "a.json")))
    fs.pipe("/five/a.json", b"[" + b" " * 8_000_000 + b"]")
    error = failure(lambda: _remote.Lease("memory://five"))
    report.check("also where there is no room without it", isinstance(error, kino.LimitError) and "in use" in str(error), repr(error))
    del held
    report.check("then there is", os.path.exists(_remote.Lease("memory://five").path))
    fs.pipe("/large/a.json", b" " * 13_000_000)
    error = failure(lambda: _remote.Lease("memory://large"))
    report.check("more than the cache may have", isinstance(error, kino.LimitError) and "KINO_CACHE_SIZE" in error.hint, repr(error))
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


def check_processes(report):
    """Another process uses a directory: it is not removed."""
    environment = {**os.environ, "PYTHONPATH": sys.path[0], "KINO_CACHE_DIR": os.path.abspath("shared-cache")}
    with subprocess.Popen([sys.executable, "-c", USER.format(module="_remote")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as user:
        said = user.stdout.readline()
        home = next(os.scandir("shared-cache")).path
        report.check("it holds its directory", said == b"holds\n" and not _remote._remove_unused(home) and os.path.exists(home))
        user.stdin.close()
        user.wait(30)
    report.check("then it may go", _remote._remove_unused(home) and not os.path.exists(home))


def run(report):
    done = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": sys.path[0]})
    report.equal("without fsspec", done.stdout, "unavailable s3://bucket/run pip install fsspec\n")
    if not importlib.util.find_spec("fsspec"):
        print("NOT TESTED: fsspec is not installed (tools/install-python)")
        report.skipped += 1
        return
    import fsspec
    os.environ["KINO_CACHE_DIR"] = os.path.abspath("cache")
    if not os.path.isdir("demo-run"):
        kino.demo("demo-run", ranks=2, steps=3)
    fs = fsspec.filesystem("memory")
    for check in (check_open, check_changes, check_names, check_limit):
        check(report, fs)
    check_processes(report)
