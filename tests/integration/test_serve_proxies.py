#!/usr/bin/env python3
"""kino serve behind proxies and inside other programs: below a base path, under a proxy's name, in frames, on a unix socket that only
its owner can use, and ending with the program that started it."""
import http.client
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile

from support import common, serve

NEVER = "frame-ancestors 'none'"


def base_path(report, demo):
    for given in ("/team/kino/", "/team/kino"):
        with serve.Server(demo, "--base-path", given) as server:
            report.equal(f"{given}: the address has it", server.base, "/team/kino/")
            page = server.ask("/team/kino/")
            report.check("the page is there", page.status == 200 and b"<title>Kino" in page.body, str(page.status))
            report.check("it names nothing from the root", b'="/' not in page.body, page.body[:400])
            report.equal("routes are below it", server.get("analyses/overview").status, 200)
            bare = server.ask("/team/kino")
            report.check("without its slash it leads there", bare.status == 308 and bare.headers["Location"] == "/team/kino/", str(bare.status))
            for outside in ("/", "/api/v1/runs", "/team/", "/team/kinox/", "/team/kinoapi/v1/runs", "/team/../team/kino/", "//team/kino/", "*"):
                answer = server.ask(outside)
                report.check(f"{outside} is not", answer.status == 404, str(answer.status))
    with serve.Server(demo, "--base-path", "/") as server:
        report.equal("/ is as without", (server.base, server.ask("/api/v1/status").status), ("/", 200))
    with serve.Server(demo, "--base-path", "/x", "--token", "open-sesame_1") as server:
        first = server.ask("/x/?token=open-sesame_1")
        report.equal("the token's page leads to itself", (first.status, first.headers["Location"]), (303, "./"))
        cookie = first.headers["Set-Cookie"]
        report.check("its cookie is for the folder of the page", "path" not in cookie.lower(), cookie)
        report.equal("and lets in", server.ask("/x/api/v1/runs", headers={"Cookie": cookie.split(";")[0]}).status, 200)
        report.equal("none of it elsewhere", server.ask("/?token=open-sesame_1").status, 401)


def hosts(report, demo):
    with serve.Server(demo, "--allow-host", "hub.example.com", "--allow-host", "other.example") as server:
        for name, status in (("hub.example.com", 200), ("HUB.example.com:8443", 200), ("other.example", 200), ("localhost:1", 200),
                             ("example.com", 403), ("hub.example.com.evil.net", 403), ("evil.net", 403), ("", 403), ("*", 403)):
            report.equal(f"Host {name!r}", server.ask("/api/v1/status", headers={"Host": name}).status, status)
        foreign = {"Host": "hub.example.com", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
        report.equal("other sites may not ask there either", server.ask("/api/v1/runs", headers=foreign).status, 403)
    with serve.Server(demo, "--allow-host", "*") as server:
        report.check("any name needs a token, which is made", server.token and len(server.token) == 32, server.line)
        report.equal("any name without it", server.ask("/api/v1/status", headers={"Host": "evil.net"}).status, 401)
        report.equal("any name with it", server.ask("/api/v1/status", headers={"Host": "any.example", "Authorization": f"Bearer {server.token}"}).status, 200)


def frames(report, demo):
    allowed = "'self' http://localhost:*"
    with serve.Server(demo) as plain, serve.Server(demo, "--frame-ancestors", allowed) as framed:
        for path in ("/", "/api/v1/report.html?wait=60"):
            report.check(f"{path} in no frame", NEVER in plain.ask(path).headers["Content-Security-Policy"])
            report.check(f"{path} in frames of those", f"frame-ancestors {allowed};" in framed.ask(path).headers["Content-Security-Policy"])


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def prepare():
    common.hear_interrupts()
    common.die_with_parent()


def start(*arguments, **options):
    process = subprocess.Popen([common.program(), "serve", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               stdin=subprocess.PIPE, preexec_fn=prepare, **options)
    return process, process.stdout.readline().decode()


def asked(path, route="/api/v1/status", **headers):
    connection = SocketConnection(path)
    connection.request("GET", route, headers=headers)
    answer = serve.Answer(connection.getresponse())
    connection.close()
    return answer


def unix_socket(report, demo, folder):
    place = folder / "kino.sock"
    before = os.umask(0)
    process, line = start(demo, "--socket", place)
    os.umask(before)
    report.equal("the address is the socket", line, f"Kino is running at unix:{place} (press Ctrl+C to stop)\n")
    report.equal("only its owner may use it", stat.S_IMODE(os.stat(place).st_mode), 0o600)
    report.equal("it answers", asked(place).status, 200)
    report.equal("by any name: no name leads to it", asked(place, Host="tensorboard.example").status, 200)
    report.equal("but not to other sites", asked(place, "/api/v1/runs", **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}).status, 403)
    ports = pathlib.Path(f"/proc/{process.pid}/net/tcp").exists() and listening(process.pid)
    report.equal("no port is open", ports, [])
    taken, _ = start(demo, "--socket", place)
    report.check("a socket that is in use", taken.wait(30) == 1 and b"cannot listen at" in taken.stderr.read())
    report.equal("which still answers", asked(place).status, 200)
    process.send_signal(signal.SIGTERM)
    report.equal("it ends", process.wait(30), 0)
    report.check("and takes the socket away", not place.exists())

    process, _ = start(demo, "--socket", place)
    process.kill()
    process.wait(30)
    report.check("a killed one leaves it", place.exists())
    process, line = start(demo, "--socket", place)
    report.check("the next one takes its place", line.startswith("Kino is running") and asked(place).status == 200, line)
    process.kill()
    process.wait(30)
    os.unlink(place)
    place.write_text("precious")
    process, _ = start(demo, "--socket", place)
    report.check("a file that is none stays", process.wait(30) == 1 and place.read_text() == "precious")
    process, _ = start(demo, "--socket", folder / ("x" * 120))
    report.check("a path that is too long", process.wait(30) == 1 and b"too long" in process.stderr.read())


def listening(pid):
    """Sockets of the process that listen on TCP."""
    mine = set()
    for entry in os.listdir(f"/proc/{pid}/fd"):
        target = os.readlink(f"/proc/{pid}/fd/{entry}")
        mine.add(target[8:-1] if target.startswith("socket:[") else "")
    rows = [line.split() for name in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in mine]


def end_of_input(report, demo, folder):
    process, line = start(demo, "--port", "0", "--stop-on-eof")
    report.check("it runs while standard input is open", line.startswith("Kino is running") and process.poll() is None, line)
    process.stdin.write(b"x" * 1000)
    process.stdin.flush()
    process.stdin.close()
    report.equal("it ends with standard input", process.wait(30), 0)
    process, _ = start(demo, "--port", "0", "--stop-on-eof")
    process.send_signal(signal.SIGINT)
    report.equal("and by signals", process.wait(30), 0)
    process, _ = start(demo, "--port", "0")
    process.stdin.close()
    process.send_signal(signal.SIGTERM)
    report.equal("without the option standard input is nothing to it", process.wait(30), 0)
    # Killed, a program cannot end its server, but the pipe ends with it.
    place = folder / "child.sock"
    code = ("import subprocess, sys, time\n"
            f"child = subprocess.Popen({[common.program(), 'serve', str(demo), '--socket', str(place), '--stop-on-eof']!r}, stdin=subprocess.PIPE,"
            " stdout=subprocess.PIPE)\nchild.stdout.readline()\nprint(child.pid, flush=True)\ntime.sleep(600)\n")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        watched = os.pidfd_open(child)
        parent.kill()
        ready = common.wait_for_end(watched, 30)
        os.close(watched)
    report.check("it ends with a program that is killed", ready)
    report.check("without its socket", not place.exists())


def wrong(report, demo):
    for option, values in (("--base-path", ("kino", "", "/a//b", "/a/../b", "/a b", "/a?b", "/a;b", "/\n")),
                           ("--allow-host", ("", "a b", "a/b", "http://a")),
                           ("--frame-ancestors", ("", "'self'; script-src *", "a, b", "a\r\nX: y"))):
        for value in values:
            done = common.run("serve", demo, "--port", "0", option, value)
            report.check(f"{option} {value!r}", done.returncode == 2 and option.encode() in done.stderr, done.stderr.decode())
    report.equal("--open with --socket", common.run("serve", demo, "--socket", "x", "--open").returncode, 2)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        demo = folder / "demo"
        serve.make_demo(demo, "--ranks", "2", "--steps", "2")
        for test in (base_path, hosts, frames, wrong):
            test(report, demo)
        for test in (unix_socket, end_of_input):
            test(report, demo, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
