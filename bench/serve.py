#!/usr/bin/env python3
"""How quickly `kino serve` answers: bench/serve.py KINO TRACE [--seconds N] [--rate N]. Prints one JSON object:
start_s (from the start of the program to the first tile of the whole trace), and for tiles at a fixed rate over connections that are
kept: rate, count, p50_ms, p99_ms, max_ms, bytes of a tile. A tile is as the UI asks for it: 1600 pixels, 30 tracks, a window somewhere at
some zoom. Latency counts from when a request was due, so a server that falls behind cannot hide it."""
import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time

PIXELS, TRACKS, CONNECTIONS = 1600, 30, 4


def ask(line, path):
    line.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = line.getresponse()
    body = answer.read()
    if answer.status not in (200, 202):
        sys.exit(f"{path}: {answer.status} {body[:200]!r}")
    return answer.status, body


def ask_loaded(line, path):
    while True:
        status, body = ask(line, path + "wait=60")
        if status == 200:
            return body


def start(kino, trace):
    """The server and the seconds until its first tile was there."""
    with open(trace, "rb") as file:  # what is measured is kino, not the disk
        while file.read(1 << 22):
            pass
    begin = time.perf_counter()
    server = subprocess.Popen([kino, "serve", trace, "--port", "0", "--quiet"], stdout=subprocess.PIPE, text=True)
    found = re.search(r":(\d+)/", server.stdout.readline())
    if not found:
        sys.exit("kino serve did not start")
    port = int(found[1])
    line = http.client.HTTPConnection("127.0.0.1", port)
    ask_loaded(line, "/api/v1/timeline/tracks?")
    ask(line, f"/api/v1/timeline/tile?pixels={PIXELS}")
    return server, port, time.perf_counter() - begin


def window(port):
    line = http.client.HTTPConnection("127.0.0.1", port)
    line.request("GET", "/api/v1/timeline/tracks")
    table = json.loads(line.getresponse().read())["tables"][0]
    line.request("GET", "/api/v1/query?sql=SELECT+min(ts),max(ts)+FROM+event+WHERE+dur+IS+NOT+NULL")
    (first, last), = json.loads(line.getresponse().read())["tables"][0]["rows"]
    return len(table["rows"]), first, last


def tiles(port, seconds, rate):
    """Latencies in seconds and sizes of tiles asked for at this rate."""
    tracks, first, last = window(port)
    dice = random.Random(1)
    times, sizes, paths = [], [], []
    for _ in range(int(seconds * rate)):
        width = (last - first) / 4 ** dice.randrange(0, 8)
        begin = first + dice.random() * (last - first - width)
        some = dice.randrange(0, max(1, tracks - TRACKS))
        paths.append(f"/api/v1/timeline/tile?from={int(begin)}&to={int(begin + width) + 1}&pixels={PIXELS}&tracks={some}-{min(tracks, some + TRACKS) - 1}")
    begin = time.perf_counter() + 0.1
    lock = threading.Lock()

    def work(number):
        line = http.client.HTTPConnection("127.0.0.1", port)
        for i in range(number, len(paths), CONNECTIONS):
            due = begin + i / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            _, body = ask(line, paths[i])
            took = time.perf_counter() - due
            with lock:
                times.append(took)
                sizes.append(len(body))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times), sizes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kino")
    parser.add_argument("trace")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rate", type=float, default=200)
    given = parser.parse_args()
    server, port, start_s = start(given.kino, given.trace)
    try:
        result = {"start_s": start_s}
        if given.seconds:
            times, sizes = tiles(port, given.seconds, given.rate)
            result.update(rate=given.rate, count=len(times), p50_ms=times[len(times) // 2] * 1e3,
                          p99_ms=times[int(len(times) * 0.99)] * 1e3, max_ms=times[-1] * 1e3, tile_bytes=sum(sizes) // len(sizes))
    finally:
        server.terminate()
        server.wait(30)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
