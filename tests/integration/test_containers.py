#!/usr/bin/env python3
"""Traces inside of other files: gzip, zstd, zlib, xz and zip, also inside each other; and what is refused, with its reason."""
import gzip
import io
import json
import lzma
import pathlib
import resource
import subprocess
import sys
import tempfile
import zipfile
import zlib

from support import common

TRACE = common.ROOT / "tests/data/cli/small.json"
PERFETTO = common.ROOT / "tests/data/perfetto/torch.pftrace"


def zipped(data, method=zipfile.ZIP_DEFLATED, names=("trace.json",)):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("folder/", b"")
        for name in names:
            archive.writestr(name, data)
    return out.getvalue()


PACK = {"gzip": gzip.compress, "zlib": zlib.compress, "xz": lzma.compress, "zip": zipped, "stored zip": lambda data: zipped(data, zipfile.ZIP_STORED)}


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))


def info(path):
    done = subprocess.run([common.program(), "info", str(path), "--format", "csv", "--table", "categories"], capture_output=True, timeout=120, check=False, preexec_fn=limit)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def damages(path):
    done = subprocess.run([common.program(), "info", str(path), "--format", "csv", "--table", "damage"], capture_output=True, text=True, timeout=120, check=True)
    return [line.split(",")[2] for line in done.stdout.splitlines()[1:]]


def has_xz(folder):
    """A build without liblzma says so."""
    path = folder / "probe"
    path.write_bytes(lzma.compress(TRACE.read_bytes()))
    return "this build cannot" not in info(path)[2]


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        packs = dict(PACK)
        if not has_xz(folder):
            print("xz is not tested: this build has no liblzma")
            report.skipped += 1
            del packs["xz"]
        for trace in (TRACE, PERFETTO):
            data, want = trace.read_bytes(), info(trace)
            report.equal(f"{trace.name} is read", want[0], 0)
            for outer, pack in packs.items():
                path = folder / "packed"
                path.write_bytes(pack(data))
                report.equal(f"{trace.name} in {outer}", info(path), want)
                for inner, again in packs.items():
                    path.write_bytes(pack(again(data)))
                    report.equal(f"{trace.name} in {inner} in {outer}", info(path), want)
        data = TRACE.read_bytes()
        deep = zipped(zlib.compress(gzip.compress(zipped(data))))
        files = {"four levels": (deep, 0, ""), "five levels": (gzip.compress(deep), 1, "inside each other"),
                 "two files": (zipped(data, names=("a.json", "b.json")), 1, "2 files"), "no file": (zipped(data, names=()), 1, "0 files"),
                 "encrypted": (bytes(b | 1 if i in find_flags(zipped(data)) else b for i, b in enumerate(zipped(data))), 1, "encrypted"),
                 "a bomb": (zipped(bytes(1 << 28)), 1, "expand"),
                 "a bomb in a bomb": (zlib.compress(zlib.compress(bytes(200 << 20), 9) + bytes(3 << 20), 9), 1, "expand"),
                 "a bomb in zlib": (zlib.compress(bytes(1 << 28), 9), 1, "expand"),
                 "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", 1, "git lfs pull"),
                 "a report of Nsight": (b"NVIDIA Tegra Profiler Report 2026@2@1", 1, "nsys export"),
                 "mangled": (b"\x0a" + "\ufffd\x01\ufffd".encode() * 100, 1, "text tool"),
                 "nothing in xz" if "xz" in packs else "nothing in zlib": ((lzma.compress if "xz" in packs else zlib.compress)(b""), 1, "empty")}
        for what, (content, code, reason) in files.items():
            path = folder / "file"
            path.write_bytes(content)
            got, _, message = info(path)
            report.check(what, got == code and reason in message and (code == 0 or "file" in message), f"exit {got}: {message[:300]}")
        # the last byte of a checksum: all is there, but something is wrong
        path = folder / "changed"
        packed = zlib.compress(data)
        for what, content, count in (("a good checksum", packed, []), ("a wrong checksum", packed[:-1] + bytes([packed[-1] ^ 1]), ["compression"])):
            path.write_bytes(content)
            report.equal(f"{what} in zlib", damages(path), count)
        # cut off: what is there is read
        for outer in ("zip", "zlib"):
            many = json.loads(data)
            many["traceEvents"] *= 2000
            path = folder / "cut"
            whole = packs[outer](json.dumps(many).encode())
            path.write_bytes(whole[:len(whole) // 2])
            code, out, message = info(path)
            report.check(f"half of a {outer}", code == 0 and len(out.splitlines()) > 1, f"exit {code}: {message[:300]}")
    return report.finish()


def find_flags(archive):
    """Where the flags of the file stand: in its own header and in the directory."""
    name = archive.rfind(b"trace.json", 0, archive.find(b"PK\x01\x02"))
    entry = archive.rfind(b"PK\x01\x02")
    return {archive.rfind(b"PK\x03\x04", 0, name) + 6, entry + 8}


if __name__ == "__main__":
    sys.exit(main())
