#!/usr/bin/env python3
"""kino serve against those who mean no good: paths, hosts, sizes, slow and broken clients, parameters that make no sense, SQL that does not
end. Each gets a clear refusal; the server lives, and others are served meanwhile."""
import os
import pathlib
import resource
import select
import socket
import sys
import tempfile
import threading
import time

from support import common, serve

SECRET = "the text of a file that nobody may read"
# Every route, with what it needs to be asked rightly.
ROUTES = {
    "status": {}, "runs": {}, "load": {}, "analyses": {}, "analyses/overview": {}, "analyses/kernel-breakdown.csv": {}, "info": {},
    "info.md": {}, "report": {}, "report.html": {}, "diff": {"run": ".", "other": "."}, "query": {"sql": "SELECT 1"}, "schema": {},
    "trace.json": {"from": "0", "to": "1000000"}, "trace.json.gz": {"from": "0", "to": "1000000"}, "timeline/tracks": {},
    "timeline/tile": {"pixels": "10"}, "timeline/event": {"id": "5"}, "timeline/search": {"q": "aten"}, "timeline/area": {},
}
# What is wrong wherever it is, and on one route.
WRONG_ANYWHERE = ["nonsense=1", "run=.&run=.", "=1", "a%20b=1", "run=%zz", "run=%4", "run=%00", "run=%ff", "run=%c0%af", "&".join(f"a{i}=1" for i in range(70))]
WRONG = {
    "load": ["wait=-1", "wait=61", "wait=x", "wait=1.2345", "span=0", "span=-1", "span=99999999999999999999", "span=x", "run=..", "run=/etc", "run="],
    "info": ["trace=x", "trace=1-0", "trace=0,", "trace=,0", "trace=0-9999999999", "trace=99", "rank=7", "rank=-1", "trace=0&rank=0", "limit=-1", "limit=x", "trace="],
    "analyses/overview": ["num_kernels=5", "compat=nobody", "steps=x-y", "steps=", "limit=1e3", "trace=0-4294967294"],
    "analyses/kernel-breakdown": ["num_kernels=x", "num_kernels=99999999999999999999", "duration_ratio=x"],
    "report": ["steps=z", "compat=z", "full=1"],
    "diff": ["run=.", "other=.", "run=.&other=x", "run=x&other=.", "run=.&other=.&compat=hta"],
    "query": ["", "sql=SELECT 1&limit=0", "sql=SELECT 1&limit=1000001", "sql=SELECT 1&timeout=0", "sql=SELECT 1&timeout=61", "sql=SELECT 1&trace=0",
              "sql=SELEC", "sql=SELECT * FROM sqlite_master WHERE"],
    "trace.json": ["from=x", "to=x", "from=5&to=5", "from=6&to=5", "from=9223372036854775808", "from=1.5"],
    "timeline/tile": ["", "pixels=0", "pixels=32769", "pixels=x", "pixels=10&from=5&to=4", "pixels=10&tracks=x", "pixels=10&tracks=0-4000000000", "pixels=10&tracks=4000000"],
    "timeline/event": ["", "id=x", "id=-1", "id=99999999999999999999", "id=9007199254740991"],
    "timeline/search": ["", "q=", "q=a&limit=0", "q=a&limit=100001", "q=a&from=2&to=1", "q=" + "a" * 32769],
    "timeline/area": ["from=x", "from=2&to=1", "tracks=1-"],
}


def raw(server, data, wait=5.0):
    """Bytes as they are; what comes back until the server closes or falls silent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as line:
        try:
            line.sendall(data)
            answer = b""
            while True:
                part = line.recv(65536)
                if not part:
                    break
                answer += part
                head, _, body = answer.partition(b"\r\n\r\n")
                length = [h for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:")]
                if length and len(body) >= int(length[0].split(b":")[1]):
                    break
        except (ConnectionError, TimeoutError):
            pass
        return answer


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else 0


def is_alive(report, server, after):
    begin = time.monotonic()
    with_own_line = server.ask("/api/v1/status", connection=server.connect(timeout=30))
    took = time.monotonic() - begin
    report.check(f"alive after {after}", with_own_line.status == 200, f"{with_own_line.status}, {took:.1f} s")


def paths(report, server, folder):
    outside = folder.parent.name
    for path in ("/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/%2e%2e%2fsecret.txt", "/assets/../../secret.txt", "//etc/passwd",
                 "/etc/passwd", "/%2fetc%2fpasswd", "/..\\secret.txt", "/..%5csecret.txt", "/index.html/..", "/.%00./secret.txt",
                 "/api/v1/analyses/../../secret.txt", "/api/v1/analyses/..%2f..%2fsecret.txt", "/api/v1/../status", "/api/v1/trace.json/../x",
                 f"/../{outside}/secret.txt", "/%c0%ae%c0%ae/secret.txt", "/api/v1/analyses/" + "a" * 300, "/api/v1/analyses/", "/api/v1",
                 "http://evil.example/api/v1/status", "*", "/api/v1/status/", "/API/V1/STATUS", "/api/v1/status%3f"):
        answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        report.check(f"{path[:60]} is nothing", status_of(answer) in (400, 404) and SECRET.encode() not in answer, str(answer[:60]))
    for value in ("../secret.txt", "..%2fsecret.txt", "/etc/passwd", "demo/../../secret.txt", "rank-0.json"):
        answer = server.ask(f"/api/v1/info?run={value}")
        report.check(f"run={value} is no run", answer.status == 404 and SECRET.encode() not in answer.body, str(answer.status))
    is_alive(report, server, "strange paths")


def hosts(report, server):
    port = server.port
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "localhost:x", "localhost:1:2",
                 "127.0.0.1@evil.example", "0.0.0.0", "128.0.0.1", "::1", "local\u0068ost\u00e9"):
        answer = server.ask("/api/v1/runs", headers={"Host": host.encode("utf-8")})
        report.check(f"host {host!r} is refused", answer.status in (400, 403) and b"runs" not in answer.body, str(answer.status))
    for host in ("localhost", f"localhost:{port}", "LOCALHOST", "127.0.0.1:8080", "127.1.2.3", "[::1]", f"[::1]:{port}"):
        report.equal(f"host {host}", server.ask("/api/v1/runs", headers={"Host": host}).status, 200)
    answer = raw(server, b"GET /api/v1/runs HTTP/1.0\r\n\r\n")
    report.check("no host", status_of(answer) in (400, 403), str(answer[:40]))
    for site in ("cross-site", "same-site"):
        report.equal(f"{site} is refused", server.ask("/api/v1/runs", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}).status, 403)
        report.equal(f"{site} as a page is refused", server.ask("/api/v1/runs", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status, 403)
        report.equal(f"a link from {site}", server.ask("/", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}).status, 200)
    for site in ("same-origin", "none"):
        report.equal(f"{site} is good", server.ask("/api/v1/runs", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"}).status, 200)


def headers(report, server):
    """What may be said once is not said twice; what old browsers say about the page that asks; tags."""
    def ask(line, *lines, body=b""):
        return status_of(raw(server, b"\r\n".join([line + b" HTTP/1.1", *lines, b"Connection: close", b"", body])))
    ours, post = b"Host: localhost", b"POST /api/v1/query"
    report.equal("two hosts", ask(b"GET /api/v1/runs", ours, b"Host: evil.example"), 400)
    report.equal("two lengths", ask(post, ours, b"Content-Length: 8", b"Content-Length: 9", body=b"SELECT 1"), 400)
    report.equal("a length and chunks", ask(post, ours, b"Content-Length: 8", b"Transfer-Encoding: chunked", body=b"8\r\nSELECT 1\r\n0\r\n\r\n"), 400)
    report.equal("chunks", ask(post, ours, b"Transfer-Encoding: chunked", body=b"4\r\nSELE\r\n4\r\nCT 1\r\n0\r\n\r\n"), 200)
    for origin, status in ((b"http://evil.example", 403), (b"null", 403), (b"http://localhost:1", 403), (b"http://localhost", 200)):
        report.equal(f"origin {origin}", ask(post, ours, b"Origin: " + origin, b"Content-Length: 8", body=b"SELECT 1"), status)
    report.equal("any tag of what is there", ask(b"GET /api/v1/timeline/tile?pixels=5", ours, b"If-None-Match: *"), 304)
    report.equal("any tag of what is not there", ask(b"GET /api/v1/timeline/event?id=999999999", ours, b"If-None-Match: *"), 404)


def sizes(report, server):
    start = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n"
    answer = raw(server, start + b"X-Large: " + b"a" * 300000 + b"\r\n\r\n")
    report.check("a large header", status_of(answer) in (0, 400, 413, 431), str(answer[:60]))
    answer = raw(server, start + b"".join(b"X-%d: 1\r\n" % i for i in range(20000)) + b"\r\n")
    report.check("many headers", status_of(answer) in (0, 400, 413, 431), str(answer[:60]))
    answer = raw(server, b"GET /api/v1/query?sql=" + b"a" * 200000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    report.check("a long address", status_of(answer) in (0, 400, 414, 431), str(answer[:60]))
    answer = raw(server, b"POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 1000)
    report.equal("a large body is refused before it comes", status_of(answer), 413)
    chunks = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    answer = raw(server, b"POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks * 20 + b"0\r\n\r\n")
    report.equal("a large body in chunks", status_of(answer), 413)
    answer = raw(server, b"POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n")
    report.check("a length below 0", status_of(answer) in (0, 400, 413), str(answer[:60]))
    answer = raw(server, b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n")
    report.check("a length beyond all", status_of(answer) in (0, 400, 413), str(answer[:60]))
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"):
        answer = server.ask("/api/v1/status", method, headers={"Connection": "close"}, connection=server.connect())
        report.check(f"{method} is refused", answer.status in (400, 405), str(answer.status))
    report.check("405 says what is possible", "POST" in server.ask("/api/v1/query", "PUT", connection=server.connect()).headers["Allow"])
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 5000,
                 b"GET / HTTP/1.1\r\nHost: localhost\r\n bad: folded\r\n\r\n", os.urandom(4000)):
        raw(server, data, wait=0.3)
    two = raw(server, (start + b"\r\n") * 2 + b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    report.check("requests one behind the other", status_of(two) == 200)
    is_alive(report, server, "bytes that are no requests")


def parameters(report, server):
    for route, good in ROUTES.items():
        base = "&".join(f"{key}={value}" for key, value in good.items()).replace(" ", "+")
        path = f"/api/v1/{route}?{base}"
        answer = server.ask(path + ("&wait=20" if route not in ("status", "runs", "analyses") else ""))
        report.check(f"{route} is fine", answer.status in (200, 404), f"{answer.status} {answer.body[:100]}")
        for wrong in WRONG_ANYWHERE:
            answer = server.ask(f"{path}&{wrong}")
            report.check(f"{route}: {wrong[:30]} is refused", answer.status == 400 and answer.message(), f"{answer.status} {answer.body[:100]}")
    report.check("the parameter is named", "'nonsense'" in server.ask("/api/v1/status?nonsense=1").message())
    report.check("the double one is named", "'run'" in server.ask("/api/v1/load?run=.&run=.").message())
    for route, cases in WRONG.items():
        for wrong in cases:
            answer = server.ask(f"/api/v1/{route}?" + wrong.replace(" ", "+"))
            report.check(f"{route}?{wrong[:40]} is refused", answer.status in (400, 404, 422) and answer.message(),
                         f"{answer.status} {answer.body[:100]}")
    for name in ("nothing", "overview.xml", "overview/x", "%6fverview", "overview.csv.csv"):
        report.equal(f"analysis {name}", server.ask(f"/api/v1/analyses/{name}").status, 404)


def full_house(report, server):
    """More idle connections than there is room for: those who only sit there must go."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most[1] < 1300:
        return print("skipped: too few files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most[0], 1300), most[1]))
    lines = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(1020)]
    begin = time.monotonic()
    answer = server.ask("/api/v1/status", connection=server.connect(timeout=30))
    report.check("room is made", answer.status == 200, f"{answer.status} after {time.monotonic() - begin:.1f} s")
    for line in lines:
        line.close()
    server.connection = None  # it sat there too
    is_alive(report, server, "a full house")


def crowd(report, server):
    """200 idle connections, 50 that never end their headers, 20 that never read their answer."""
    lines = []
    for i in range(270):
        line = socket.create_connection(("127.0.0.1", server.port))
        if 200 <= i < 250:
            line.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: loc")
        elif i >= 250:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.sendall(b"GET /api/v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
        lines.append(line)
    worst = 0.0
    line = server.connect(timeout=20)
    for i in range(40):
        for half in lines[200:250]:
            if i % 10 == 0:
                half.sendall(b"a")
        begin = time.monotonic()
        report.equal("a tile in the crowd", server.ask("/api/v1/timeline/tile?pixels=100", connection=line).status, 200)
        worst = max(worst, time.monotonic() - begin)
    report.check("nobody waits for the crowd", worst < 15, f"{worst:.2f} s")
    for old in lines:
        old.close()
    is_alive(report, server, "a crowd")


ENDLESS = "WITH+RECURSIVE+t(x)+AS+(SELECT+1+UNION+ALL+SELECT+x%2B1+FROM+t)+SELECT+max(x)+FROM+t"


def queries(report, server):
    """Many statements that do not end: tiles do not wait, the queue has an end, and who is gone is not worked for."""
    request = f"GET /api/v1/query?sql={ENDLESS}&timeout=60 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    lines = []
    for _ in range(180):
        line = socket.create_connection(("127.0.0.1", server.port))
        line.sendall(request)
        lines.append(line)
    begin = time.monotonic()
    report.equal("a tile beside endless statements", server.ask("/api/v1/timeline/tile?pixels=100", connection=server.connect()).status, 200)
    report.check("without waiting for them", time.monotonic() - begin < 15, f"{time.monotonic() - begin:.1f} s")
    refused = select.select(lines, [], [], 20)[0]  # the others wait: nothing but a refusal comes so early
    answer = refused[0].recv(65536) if refused else b""
    begin = time.monotonic()
    beside = server.ask("/api/v1/analyses/overview?limit=3", connection=server.connect())
    report.check("an analysis beside endless statements", beside.status == 200 and time.monotonic() - begin < 30, f"{beside.status}")
    report.check("too many are refused", status_of(answer) == 503 and b"Retry-After" in answer, str(answer[:80]))
    for line in lines:
        line.close()
    begin = time.monotonic()
    while time.monotonic() - begin < 20:
        answer = server.ask("/api/v1/query?sql=SELECT+1", connection=server.connect(timeout=20))
        if answer.status == 200:
            break
        time.sleep(0.1)
    report.check("who is gone is not worked for", answer.status == 200, f"{answer.status} after {time.monotonic() - begin:.1f} s")


def many_at_once(report, server):
    """Threads that ask different things of one run at the same time get the answers that one alone gets."""
    asked = ["/api/v1/analyses/overview", "/api/v1/timeline/tile?pixels=300", "/api/v1/info", "/api/v1/query?sql=SELECT+count(*)+FROM+event",
             "/api/v1/timeline/search?q=aten", "/api/v1/analyses/kernels", "/api/v1/timeline/tracks", "/api/v1/report.md"]
    alone = {path: server.ask(path).body for path in asked}
    wrong = []

    def ask(seed):
        line = server.connect()
        for i in range(12):
            path = asked[(seed * 5 + i * 3) % len(asked)]
            answer = server.ask(path, connection=line)
            if answer.status != 200 or answer.body != alone[path]:
                wrong.append((path, answer.status))
        line.close()
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.equal("many at once", wrong, [])


def tokens(report, demo):
    with serve.Server(demo, "--token", "open-sesame_1") as server:
        report.equal("the token is in the address", server.token, "open-sesame_1")
        for headers in ({}, {"Authorization": "Bearer open-sesame_2"}, {"Authorization": "Bearer "}, {"Authorization": "open-sesame_1"},
                        {"Cookie": f"kino_{server.port}=x"}, {"Cookie": "kino_1=open-sesame_1"}, {"Authorization": "Bearer open-sesame_1x"}):
            for path in ("/api/v1/runs", "/", "/api/v1/runs?token=open-sesame_1", "/?token=open-sesame_2", "/assets/x.js"):
                answer = server.ask(path, headers=headers)
                report.check(f"{path} with {headers} needs the token", answer.status == 401 and answer.headers["WWW-Authenticate"], str(answer.status))
        report.equal("the token in a header", server.ask("/api/v1/runs", headers={"Authorization": "Bearer open-sesame_1"}).status, 200)
        first = server.ask("/?token=open-sesame_1")
        report.check("the token in the address becomes a cookie", first.status == 303 and first.headers["Location"] == "./", str(first.status))
        cookie = first.headers["Set-Cookie"]
        report.check("which scripts and other sites do not see", "HttpOnly" in cookie and "SameSite=Strict" in cookie, cookie)
        value = cookie.split(";")[0]
        report.equal("and opens the rest", server.ask("/api/v1/runs", headers={"Cookie": f"a=b; {value}; c=d"}).status, 200)
        report.equal("a wrong host is refused before", server.ask("/api/v1/runs", headers={"Cookie": value, "Host": "evil.example"}).status, 403)
    with serve.Server(demo, "--host", "0.0.0.0") as server:
        report.check("others need a token, which is made", server.token and len(server.token) == 32, str(server.token))
        report.equal("without it nothing", server.ask("/api/v1/runs").status, 401)
        report.equal("with it, by any name", server.ask("/api/v1/runs", headers={"Host": "my-machine", "Authorization": f"Bearer {server.token}"}).status, 200)


def links(report, folder):
    """Whoever can write into a served folder cannot have other files of the server's user shown."""
    served, private = folder / "served", folder / "private"
    served.mkdir()
    serve.make_demo(served / "run", "--ranks", "1", "--steps", "1")
    serve.make_demo(private, "--ranks", "1", "--steps", "1")
    inside, outside = next(p for p in (served / "run").iterdir() if "json" in p.name), next(p for p in private.iterdir() if "json" in p.name)
    (served / "out").symlink_to(private)
    (served / "mixed").mkdir()
    (served / "mixed" / ("a-" + outside.name)).symlink_to(outside)
    (served / "mixed" / ("b-" + inside.name)).symlink_to(inside)
    (served / "alone").mkdir()
    (served / "alone" / outside.name).symlink_to(outside)
    with serve.Server(served) as server:
        runs = {run["name"]: [trace["file"] for trace in run["traces"]] for run in server.get("runs").json()["runs"]}
        report.equal("links: out of the folder are not followed", {name: len(files) for name, files in runs.items()}, {"run": 1, "mixed": 1})
        report.check("links: inside of it are", runs.get("mixed", [""])[0].startswith("b-"), runs)
        # One that becomes a link after it was listed.
        own = served / "run" / inside.name
        info = own.stat()
        own.unlink()
        own.symlink_to(outside)
        os.utime(own, ns=(info.st_atime_ns, info.st_mtime_ns))
        later = server.get("info", run="run")
        report.check("links: nor when they come later", later.status >= 400, later.status)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "secret.txt").write_text(SECRET)
        demo = folder / "demo"
        serve.make_demo(demo, "--ranks", "2", "--steps", "1")
        with serve.Server(demo) as server:
            server.get("timeline/tracks")
            paths(report, server, demo)
            for test in (hosts, headers, sizes, parameters, crowd, full_house, queries, many_at_once):
                test(report, server)
            report.equal("nothing was said", server.end(), (0, ""))
        tokens(report, demo)
        links(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
