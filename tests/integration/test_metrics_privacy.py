#!/usr/bin/env python3
"""What /metrics and getMetrics tell a user: the host, and his own processes; of others nothing, unless he has the token. And no page
whose name leads here (DNS rebinding) is told anything."""
import http.client
import json
import os
import pathlib
import stat
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, daemon as d  # noqa: E402
from support.users import Crowd, NOBODY, as_user  # noqa: E402

TOKEN = "a-good-token-for-prometheus"


def get(daemon, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.metrics_port, timeout=d.DEADLINE)
    try:
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_users(report, daemon, own, other):
    """`own` is of nobody, `other` of root; both are registered and measured."""
    def sees(text):
        return [f'pid="{pid}"' in text or f'"pid":"{pid}"' in text for pid in (own, other)]

    def ask_all():
        return [get(daemon)[1], json.dumps(daemon.call("getMetrics"), separators=(",", ":")),
                json.dumps(daemon.call("getMetrics", seconds=600), separators=(",", ":")),
                json.dumps(daemon.call("getMetrics", from_ns=0), separators=(",", ":"))]
    d.until(lambda: sees(get(daemon)[1]) == [True, True])
    names = ("/metrics", "getMetrics", "its history", "a window of it")
    for name, text in zip(names, ask_all()):
        report.equal(f"root sees all: {name}", sees(text), [True, True])
    for name, text in zip(names, as_user(NOBODY, ask_all)):
        report.equal(f"a user sees his own: {name}", sees(text), [True, False])
    for name, text in zip(names, as_user(NOBODY - 1, ask_all)):
        report.equal(f"another sees none: {name}", sees(text), [False, False])
    page = as_user(NOBODY - 1, lambda: get(daemon)[1])
    report.check("nor commands", "process_info{" not in page and pathlib.Path(__file__).name not in page)
    report.check("nor cgroups", "cgroup=" not in page)
    report.check("the host is for everybody", all(word in page for word in ("kino_cpu_seconds_total", "kino_memory_total_bytes",
                                                                             "kino_daemon_processes ")))
    with_token = as_user(NOBODY - 1, lambda: get(daemon, Authorization=f"Bearer {TOKEN}"))
    report.equal("with the token all", (with_token[0], sees(with_token[1])), (200, [True, True]))
    report.equal("with another nothing", as_user(NOBODY - 1, lambda: get(daemon, Authorization="Bearer x" + TOKEN))[0], 401)


def test_hosts(report, daemon):
    for host, want in (("localhost", 200), (f"127.0.0.1:{daemon.metrics_port}", 200), ("[::1]:9178", 200), ("known.example:80", 200),
                       ("evil.example", 403), ("evil.example:9178", 403), ("localhost.evil.example", 403)):
        status, text = get(daemon, Host=host)
        report.equal(f"Host: {host}", (status, "kino_cpu" in text), (want, want == 200))


def main():
    if os.getuid() != 0:
        common.skip("not root: processes of other users cannot be started, so what they are shown is not tested")
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        token, lines = pathlib.Path(folder, "token"), pathlib.Path(folder, "lines")
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        env = {"KINO_DAEMON_METRICS_TOKEN_FILE": str(token), "KINO_DAEMON_METRICS_HOSTS": "known.example"}
        with d.Daemon("--metrics-interval", "0.2", "--metrics-address", "127.0.0.1:0", "--metrics-json", lines, env=env) as daemon:
            with Crowd(daemon, 1) as own, Crowd(daemon, 1, uid=0) as other:
                test_users(report, daemon, own.pids[0], other.pids[0])
            test_hosts(report, daemon)
        report.equal("lines of all users are not for everybody", stat.S_IMODE(lines.stat().st_mode), 0o600)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
