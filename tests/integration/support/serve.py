"""A `kino serve` of a test's own, and a client that keeps its connection."""
import gzip
import http.client
import json
import os
import re
import select
import signal
import subprocess
import time
import urllib.parse

from support import common

START_S = 30  # sanitizers are slow


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.raw = response.read()
        packed = response.headers.get("Content-Encoding") == "gzip"
        self.body = gzip.decompress(self.raw) if packed else self.raw

    def json(self):
        return json.loads(self.body)

    def message(self):
        return self.json()["error"]["message"]


class Server:
    """`with Server(folder, "--memory", "1MB") as server: server.get("runs")`"""

    def __init__(self, *arguments, port=0):
        self.process = subprocess.Popen([common.program(), "serve", "--port", str(port), *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        preexec_fn=common.hear_interrupts)
        self.line = self._first_line()
        found = re.match(r"Kino is running at http://(\[?[^\]/]+\]?):(\d+)(/\S*?)(\?token=(\S+))? \(press Ctrl\+C to stop\)$", self.line)
        if not found:
            self.process.kill()
            raise RuntimeError(f"kino serve said {self.line!r}, {self.process.communicate()[1].decode()!r}")
        self.host, self.port, self.base, self.token = found[1], int(found[2]), found[3], found[5]
        self.connection = None

    def _first_line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], START_S)
        return self.process.stdout.readline().decode().rstrip("\n") if ready else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, how=signal.SIGTERM):
        """Exit code and what was written to standard error; sanitizers speak there."""
        if self.connection:
            self.connection.close()
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            _, errors = self.process.communicate(timeout=START_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, errors.decode()

    def connect(self, timeout=600):  # a busy machine must not decide
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, path, method="GET", body=None, headers=None, connection=None):
        """Any path as it is; over the server's own connection unless another one is given."""
        mine = connection or self.connection or self.connect()
        if not connection:
            self.connection = mine
        try:
            mine.putrequest(method, path, skip_accept_encoding=True, skip_host="Host" in (headers or {}))
            for name, value in (headers or {}).items():
                mine.putheader(name, value)
            if body is not None:
                mine.putheader("Content-Length", str(len(body)))
            mine.endheaders(body)
            return Answer(mine.getresponse())
        except (http.client.HTTPException, OSError):
            mine.close()
            if not connection:
                self.connection = None
            raise

    def get(self, route, headers=None, **params):
        """A route of the API, once the run is loaded."""
        query = urllib.parse.urlencode(params)
        path = f"{self.base}api/v1/{route}" + (f"?{query}" if query else "")
        until = time.monotonic() + 60
        while True:
            answer = self.ask(path, headers=headers)
            if answer.status != 202 or time.monotonic() > until:
                return answer
            time.sleep(0.02)


def make_demo(folder, *arguments):
    done = common.run("demo", folder, "--no-info", "--no-progress", *arguments)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    for name in os.listdir(folder):
        if name.startswith("."):
            os.unlink(os.path.join(folder, name))
