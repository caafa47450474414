"""Lines of instructions, by the tables of code objects (python/tracer/lines.c): equal to what Python says, for the code of its own library."""
import ctypes
import dis
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

from support import common

FORMAT = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2
FILES = ("argparse.py", "dataclasses.py", "asyncio/base_events.py", "typing.py", "json/decoder.py", "threading.py", "decimal.py", "ast.py")


def codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def wanted_lines(code):
    """Offset of each instruction, and its line; 0: none."""
    if FORMAT == 0:
        starts, line = dict(dis.findlinestarts(code)), 0
        for offset in range(0, len(code.co_code), 2):
            line = starts.get(offset, line)
            yield offset, line
        return
    for start, end, line in code.co_lines():
        for offset in range(start, end, 2):
            yield offset, line or 0


def run(report):
    compiler = shutil.which("cc")
    if not compiler:
        print("not tested: lines of instructions (no compiler)")
        return
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "lines.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", common.ROOT / "python/tracer/lines.c", "-o", library], check=True)
        line_at = ctypes.CDLL(str(library)).pytracer_line_at
        line_at.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t]
        count, wrong = 0, []
        for name in FILES:
            path = pathlib.Path(library_folder()) / name
            for code in codes_of(compile(path.read_text(encoding="utf-8"), str(path), "exec")):
                table = code.co_lnotab if FORMAT == 0 else code.co_linetable
                for offset, line in wanted_lines(code):
                    count += 1
                    if line_at(FORMAT, table, len(table), code.co_firstlineno, offset) != line:
                        wrong.append((name, code.co_name, offset, line))
    report.check("instructions were looked at", count > 10000, count)
    report.equal("their lines are Python's", wrong[:5], [])


def library_folder():
    return pathlib.Path(dis.__file__).parent
