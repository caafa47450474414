"""The web UI from Python: kino.serve, Run.show, what notebooks show, and servers that end with their process."""
import contextlib
import glob
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import kino
from support import common


def fetch(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@contextlib.contextmanager
def variables(**values):
    """Variables of the environment, for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def check_server(report):
    with kino.serve("demo-run", page="timeline", height=500) as server:
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)#/timeline", server.url)
        report.check("the address of a page", found and server.address == found[1], server.url)
        status, headers, body = fetch(server.address)
        report.check("the page", status == 200 and b"<title>Kino" in body)
        report.check("pages of this machine may show it", "frame-ancestors 'self' http://localhost:*" in headers["Content-Security-Policy"])
        report.equal("other names are refused", fetch(server.address, Host="evil.example")[0], 403)
        markup = server._repr_html_()
        report.check("a cell has it in a frame", f'<iframe src="{server.url}"' in markup and "height: 500px" in markup, markup)
        pid = server._child.process.pid
    report.check("closed it is gone", not server.is_running() and not pathlib.Path(f"/proc/{pid}").exists() and "closed" in repr(server))
    report.check("closed twice is fine", server.close() is None)
    for wrong in ("no-such-folder", []):
        try:
            kino.serve(wrong)
            report.check(f"serve({wrong!r}) fails", False)
        except kino.Error as error:
            report.check(f"serve({wrong!r}) says why", "no-such-folder" in str(error) if wrong else "TRACE or DIR" in str(error), str(error))


def check_proxies(report):
    cases = (({}, {"proxy": "/user/x/proxy/{port}/"}), ({"JUPYTERHUB_SERVICE_PREFIX": "/user/x/"}, {}), ({"KINO_PROXY": "/user/x/proxy/{port}/"}, {}))
    for environment, options in cases:
        with variables(**environment), kino.serve("demo-run", **options) as server:
            found = re.fullmatch(r"/user/x/proxy/(\d+)/\?token=(\w{32})#/overview", server.url)
            if not report.check(f"{environment or options}: the page is the proxy's", found, server.url):
                continue
            place = f"http://127.0.0.1:{found[1]}/"
            report.equal("which has a name of its own, and the token", fetch(f"{place}api/v1/status", Host="hub.example", Authorization=f"Bearer {found[2]}")[0], 200)
            report.equal("without it nobody gets in", fetch(f"{place}api/v1/status", Host="hub.example")[0], 401)
    with variables(JUPYTERHUB_SERVICE_PREFIX="/user/x/"), kino.serve("demo-run", proxy="") as server:
        report.check("no proxy where none is wanted", server.url.startswith("http://127.0.0.1:"), server.url)


def runs_of(server):
    return json.loads(fetch(f"{server.address}api/v1/load?wait=60")[2])


def check_show(report):
    def copies():
        return glob.glob(os.path.join(tempfile.gettempdir(), "kino-show-*"))
    before = copies()
    with kino.open("demo-run") as run:
        server = run.show()
    report.equal("a run is shown from its files", (copies(), runs_of(server)["events"] > 1000), (before, True))
    server.close()
    with kino.open("demo-run") as run, kino.open("demo-run", rank=1) as one:
        step = run.steps()[0].step
        for what, made, ranks in (("a cut", run.cut(steps=step), [0, 1]), ("one rank", one, [1])):
            server = made.show("operators")
            entry = runs_of(server)
            report.equal(f"{what} is shown as it is", ([trace["rank"] for trace in entry["traces"]], entry["events"]),
                         (ranks, sum(trace.events for trace in made.traces)))
            again = made.show()
            report.check(f"{what}: one server for a run", not server.is_running() and again.is_running())
            again.close()
    report.equal("copies are removed", copies(), before)
    os.makedirs("several", exist_ok=True)
    for name in ("a", "b"):
        kino.demo(f"several/{name}", ranks=1, steps=2)
    with kino.open("several", run="b") as run:
        server = run.show()
        report.check("a run among several is chosen", server.url.endswith("#/overview?run=b"), server.url)
        server.close()


def check_markup(report):
    with kino.open("demo-run") as run:
        text = run._repr_html_()
        events = sum(trace.events for trace in run.traces)
        report.check("a run in a cell: a summary", f"2 traces, {events:,} events" in text and "rank-1.json" in text and "148" in text, text[:300])
        page = run.report()._repr_html_()
        report.check("a report in a cell: its page", page.startswith("<iframe srcdoc=") and "Step time" in page and 'sandbox="allow-scripts"' in page)
    report.check("a closed run", "closed" in run._repr_html_())


CHILD = """
import os, sys, time
import kino
server = kino.serve("demo-run")
print(server._child.process.pid, flush=True)
{then}
"""


def check_ends(report):
    """However a process ends, its server does too."""
    cases = (("exits", "", None), ("is killed", "time.sleep(600)", signal.SIGKILL), ("exits without cleaning up", "os._exit(0)", None),
             ("is killed and leaves a child", "os.fork() or time.sleep(600); time.sleep(600)", signal.SIGKILL))
    for what, then, how in cases:
        with subprocess.Popen([sys.executable, "-c", CHILD.format(then=then)], stdout=subprocess.PIPE, preexec_fn=os.setsid,
                              env={**os.environ, "PYTHONPATH": sys.path[0]}) as process:
            pid = int(process.stdout.readline())
            try:
                watched = os.pidfd_open(pid)
            except ProcessLookupError:
                watched = None
            if how:
                process.send_signal(how)
            report.check(f"the server of a process that {what}", watched is None or common.wait_for_end(watched, 30))
            if watched is not None:
                os.close(watched)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def check_interrupt(report):
    with kino.serve("demo-run") as server:
        report.check("Ctrl-C is not for it", os.getsid(server._child.process.pid) != os.getsid(0))


def run(report):
    if not os.path.isdir("demo-run"):
        kino.demo("demo-run", ranks=2, steps=3)
    for check in (check_server, check_proxies, check_show, check_markup, check_ends, check_interrupt):
        check(report)
