"""The plugin for TensorBoard without TensorBoard: its WSGI application, and the server behind it. test_tensorboard.py has it in TensorBoard."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

import kino
from kino.tensorboard import engine, wsgi
from support import common

PREFIX = "/data/plugin/kino/ui/"
KEPT = {"Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Content-Security-Policy", "Cache-Control", "Vary",
        "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Kino-Truncated", "Retry-After", "Allow"}


class Answer:
    def __init__(self, app, path, method="GET", body=b"", query="", **variables):
        environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, "HTTP_HOST": "board.example:6006", "wsgi.input": io.BytesIO(body),
                   "CONTENT_LENGTH": str(len(body)) if body else "", **variables}
        pieces = app(environ, self._start)
        self.pieces = list(pieces)
        self.body = b"".join(self.pieces)
        getattr(pieces, "close", lambda: None)()

    def _start(self, status, headers, exc_info=None):
        self.status, self.headers = int(status.split()[0]), dict(headers)


def check_answers(report, app):
    page = Answer(app, PREFIX)
    report.check("the page", page.status == 200 and b"<title>Kino" in page.body and page.headers["Content-Type"].startswith("text/html"), str(page.status))
    report.check("TensorBoard's page may show it, others not", "frame-ancestors 'self';" in page.headers["Content-Security-Policy"])
    report.check("its headers are ours alone", set(page.headers) <= KEPT, str(set(page.headers) - KEPT))
    bare = Answer(app, PREFIX[:-1])
    report.equal("without its slash", (bare.status, bare.headers["Location"]), (308, "ui/"))
    runs = json.loads(Answer(app, f"{PREFIX}api/v1/runs").body)["runs"]
    report.equal("the runs of the folder", [run["name"] for run in runs], ["first", "second run"])
    steps = Answer(app, f"{PREFIX}api/v1/analyses/overview", query="run=second+run&wait=60")
    report.equal("an analysis", (steps.status, json.loads(steps.body)["analysis"]), (200, "overview"))
    sql = Answer(app, f"{PREFIX}api/v1/query", "POST", b"SELECT count(*) FROM event", "run=first&wait=60", CONTENT_TYPE="text/plain")
    with kino.open("board-logs/first") as run:
        report.equal("SQL by POST", json.loads(sql.body)["tables"][0]["rows"][0][0], run.query("SELECT count(*) AS n FROM event")[0].n)
    packed = Answer(app, f"{PREFIX}api/v1/analyses", HTTP_ACCEPT_ENCODING="gzip")
    report.equal("packed where the browser takes it", packed.headers.get("Content-Encoding"), "gzip")
    head = Answer(app, f"{PREFIX}api/v1/status", "HEAD")
    report.check("HEAD", head.status == 200 and head.body == b"" and int(head.headers["Content-Length"]) > 0)
    trace = Answer(app, f"{PREFIX}api/v1/trace.json", query="run=first&wait=60")
    report.check("large answers come in pieces", len(trace.pieces) > 5 and max(map(len, trace.pieces)) <= 64 << 10 and
                 json.loads(trace.body)["traceEvents"], str(len(trace.pieces)))


def check_refusals(report, app):
    for method in ("DELETE", "PUT", "OPTIONS", "CONNECT"):
        report.equal(f"{method} is refused", Answer(app, f"{PREFIX}api/v1/runs", method).status, 405)
    report.equal("POST elsewhere", Answer(app, f"{PREFIX}api/v1/runs", "POST", b"x").status, 405)
    for path in ("/data/plugin/kino/uix", "/elsewhere", ""):
        report.equal(f"{path!r} is not ours", Answer(app, path).status, 404)
    for path in ("../../../etc/passwd", "%2e%2e/x", "api/v1/runs\r\nX: y", "ä\x00"):
        answer = Answer(app, PREFIX + path.encode().decode("latin-1"))
        report.check(f"{path!r} is nothing", answer.status in (400, 404), str(answer.status))
    for query in ("a b", "x\r\nHost: evil", "\u00e4"):
        report.check(f"a query of {query!r}", Answer(app, f"{PREFIX}api/v1/runs", query=query).status in (400, 404), query)
    report.equal("a body that is too large", Answer(app, f"{PREFIX}api/v1/query", "POST", b"x" * ((1 << 20) + 1)).status, 413)
    report.equal("a body of unknown size", Answer(app, f"{PREFIX}api/v1/query", "POST", b"", HTTP_TRANSFER_ENCODING="chunked").status, 413)
    report.equal("a size that is none", Answer(app, f"{PREFIX}api/v1/query", "POST", b"", CONTENT_LENGTH="-5").status, 413)
    foreign = {"HTTP_SEC_FETCH_SITE": "cross-site", "HTTP_SEC_FETCH_MODE": "cors"}
    report.equal("another site's page asks", Answer(app, f"{PREFIX}api/v1/runs", **foreign).status, 403)
    report.equal("the same by Origin", Answer(app, f"{PREFIX}api/v1/runs", HTTP_ORIGIN="http://evil.example").status, 403)
    own = Answer(app, f"{PREFIX}api/v1/runs", HTTP_ORIGIN="http://board.example:6006", HTTP_COOKIE="secret=1", HTTP_AUTHORIZATION="Basic x")
    report.equal("its own page asks", own.status, 200)


class Recorder:
    """An engine that writes down what it is asked."""

    def __init__(self, place):
        code = ("import socket, sys\ns = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True)\nc, _ = s.accept()\n"
                "sys.stdout.write(c.recv(65536).decode()); c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nSet-Cookie: a=b\\r\\n"
                "X-Secret: 1\\r\\nConnection: close\\r\\nContent-Type: text/plain\\r\\n\\r\\nok')\n")
        self.place = place
        self.process = subprocess.Popen([sys.executable, "-c", code, place], stdout=subprocess.PIPE, text=True, preexec_fn=common.die_with_parent)
        self.process.stdout.readline()

    def socket_path(self):
        return self.place


def check_headers(report):
    recorder = Recorder(os.path.abspath("recorder.sock"))
    answer = Answer(wsgi.Proxy(recorder, PREFIX), f"{PREFIX}api/v1/runs", HTTP_COOKIE="secret=1", HTTP_AUTHORIZATION="Basic x", HTTP_X_FORWARDED_FOR="1.2.3.4",
                    HTTP_ACCEPT_ENCODING="gzip", HTTP_CONNECTION="keep-alive, x", HTTP_TE="trailers")
    asked = recorder.process.communicate(timeout=30)[0]
    sent = {line.split(":")[0] for line in asked.splitlines()[1:] if line}
    report.equal("what reaches the engine", sent, {"Host", "Accept-Encoding"})
    report.equal("what reaches the browser", (answer.body, set(answer.headers)), (b"ok", {"Content-Type", "Content-Length"}))


def check_life(report, logs):
    path = logs.socket_path()
    child = logs._child.process
    report.check("the socket is its owner's alone", stat.S_IMODE(os.stat(path).st_mode) == 0o600 and stat.S_ISSOCK(os.stat(path).st_mode))
    report.equal("the same one is used", logs.socket_path(), path)
    child.kill()
    child.wait(30)
    again = Answer(wsgi.Proxy(logs, PREFIX), f"{PREFIX}api/v1/status")
    report.check("an engine that was killed is started again", again.status == 200 and logs._child.process.pid != child.pid, str(again.status))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    path = logs.socket_path()
    logs.close()
    report.check("closed, nothing is left", not os.path.exists(path))
    broken = Answer(wsgi.Proxy(engine.LogEngine(["no-such-folder"]), PREFIX), f"{PREFIX}api/v1/status")
    report.check("one that cannot start", broken.status == 502 and "error" in json.loads(broken.body), broken.body)
    code = ("import sys, time\nfrom kino.tensorboard.engine import LogEngine\nlogs = LogEngine(['board-logs'])\n"
            "print(logs.socket_path(), logs._child.process.pid, flush=True)\ntime.sleep(600)\n")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": sys.path[0]}) as parent:
        place, pid = parent.stdout.readline().split()
        watched = os.pidfd_open(int(pid))
        parent.send_signal(signal.SIGKILL)
        report.check("it ends when TensorBoard is killed", common.wait_for_end(watched, 30))
        os.close(watched)
    report.check("and leaves no socket", not os.path.exists(place))


def check_runs(report):
    report.equal("a folder that is not there", engine.LogEngine(["no-such-folder"]).has_runs(), False)
    os.makedirs("board-empty", exist_ok=True)
    logs = engine.LogEngine([f"file://{os.path.abspath('board-empty')}"])
    report.equal("a folder without traces", logs.has_runs(), False)
    shutil.copy("demo-run/rank-0.json", "board-empty/host_1.1700000000000.pt.trace.json")
    logs.close()
    report.equal("a folder of tensorboard_trace_handler", logs.has_runs(), True)
    logs.close()


def check_remote(report):
    if not importlib.util.find_spec("fsspec"):
        return  # remote.py says so
    import fsspec
    os.environ["KINO_CACHE_DIR"] = os.path.abspath("board-cache")
    fs = fsspec.filesystem("memory")
    trace = pathlib.Path("demo-run/rank-0.json").read_bytes()
    fs.pipe("/board/first/host_1.1700000000000.pt.trace.json", trace)
    engine._REFRESH_SECONDS = 0.1
    logs = engine.LogEngine(["memory://board"])
    app = wsgi.Proxy(logs, PREFIX)

    def names():
        return [run["name"] for run in json.loads(Answer(app, f"{PREFIX}api/v1/runs").body)["runs"]]
    report.equal("a log folder of a remote store", (logs.has_runs(), names()), (True, ["first"]))
    fs.pipe("/board/second/host_1.1700000000000.pt.trace.json", trace)
    until = time.monotonic() + 30
    while len(names()) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    report.equal("which grows", names(), ["first", "second"])
    logs.close()


def run(report):
    if not os.path.isdir("demo-run"):
        kino.demo("demo-run", ranks=2, steps=3)
    for name in ("first", "second run"):
        shutil.copytree("demo-run", pathlib.Path("board-logs") / name)
    logs = engine.LogEngine(["board-logs"])
    app = wsgi.Proxy(logs, PREFIX)
    check_answers(report, app)
    check_refusals(report, app)
    check_headers(report)
    check_life(report, logs)
    check_runs(report)
    check_remote(report)
