#!/usr/bin/env python3
"""Documents against what they describe: manual pages, folder READMEs, examples in headers, the README's commands, ARCHITECTURE's layers.

Each part fails when something is added to the program without its page, or taken away without it."""
import fnmatch
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from support import common

ROOT = common.ROOT
MAN = ROOT / "docs/man"
OPTION = re.compile(r"^  --([a-z][a-z-]*)", re.M)
OPTION_OF_PAGE = re.compile(r"^\*\*\\-\\-([a-z][a-z-]*)\*\*", re.M)
HIDDEN = {"simd"}  # for measurements: in the manual only


def members(path, macro):
    return re.findall(rf"^{macro}\((\w+)\)", (ROOT / path).read_text(), re.M)


def section(page, title):
    found = re.search(rf"^# {title}\n(.*?)(?=^# |\Z)", page, re.M | re.S)
    return found.group(1) if found else ""


def help_of(command):
    return common.run(command, "--help").stdout.decode()


def check_commands(report):
    overview = (MAN / "kino.md").read_text()
    for command in members("src/cli/commands.def", "COMMAND"):
        report.check(f"kino(1) names {command}", f"**kino-{command}**(1)" in overview)
        page = MAN / f"kino-{command}.md"
        if not report.check(f"{command} has a page", page.is_file()):
            continue
        shown = set(OPTION.findall(help_of(command)))
        written = set(OPTION_OF_PAGE.findall(section(page.read_text(), "OPTIONS"))) - HIDDEN
        report.check(f"{command} has options", bool(shown))
        report.equal(f"{command}: options that its page lacks", sorted(shown - written), [])
        report.equal(f"{command}: options that only its page has", sorted(written - shown), [])
    known = {f"kino-{command}" for command in members("src/cli/commands.def", "COMMAND")}
    report.equal("pages without a command", sorted(p.stem for p in MAN.glob("kino-*.md") if p.stem not in known), [])


def check_writers(report):
    page = section((MAN / "kino-convert.md").read_text(), "DESCRIPTION")
    formats = help_of("convert")
    for writer in members("src/writer/writers.def", "WRITER"):
        source = (ROOT / f"src/writer/{writer}.c").read_text()
        names = re.findall(r'\.(?:name|suffix|other_suffix) = "\.?([\w.-]+)"', source)
        report.check(f"{writer} has a name and a suffix", len(names) >= 2, names)
        for name in names:
            report.check(f"kino-convert(1) names {name} ({writer})", f"**{name}**" in page)
        suffix = re.search(r'\.suffix = "\.([\w.-]+)"', source).group(1)
        report.check(f"kino convert --help names {suffix}", re.search(rf"^  {re.escape(suffix)} ", formats, re.M) is not None)


# -- README.md of each folder under src/

def families(folder, text):
    """Names in backticks stand for families: `a`, `a.c`, `a.*` for a and a_*, `a*` for all that begin so, `a.def` also for what it lists."""
    for name in re.findall(r"`([\w<>*.-]+)`", text):
        yield re.sub(r"<\w+>", "*", name.split(".")[0])
        if name.endswith(".def") and (folder / name).is_file():
            yield from re.findall(r"^[A-Z_]+\((\w+)[,)]", (folder / name).read_text(), re.M)


def uncovered(folder, text):
    patterns = [pattern for family in families(folder, text) if family for pattern in (family, f"{family}_*")]
    for path in sorted(folder.iterdir()):
        stem = path.name.split(".")[0].removeprefix("cmd_")
        is_private = stem.endswith("_internal") or path.name == "README.md"  # the family's own
        if path.is_file() and not is_private and not any(fnmatch.fnmatch(stem, pattern) for pattern in patterns):
            yield path.name


def check_readmes(report):
    for folder in sorted(path for path in (ROOT / "src").iterdir() if path.is_dir()):
        readme = folder / "README.md"
        if not report.check(f"{folder.name} has a README", readme.is_file()):
            continue
        text = readme.read_text()
        for name in re.findall(r"`([\w/-]+\.(?:[ch]|def|map|md|cmake|h\.in))`", text):
            places = (folder, ROOT / "src", ROOT)
            report.check(f"src/{folder.name}/README.md: {name} exists", any((place / name).is_file() for place in places) or any(folder.rglob(name)))
        report.equal(f"src/{folder.name}/README.md: files that it does not cover", list(uncovered(folder, text)), [])


# -- examples in public headers

def examples_of(text):
    """The indented lines after a line ` * Example: ...` of a comment, to the next line that is not indented."""
    for found in re.finditer(r"^ \* Example:[^\n]*\n((?: \*(?:   [^\n]*)?\n)+)", text, re.M):
        yield "".join(line[5:] + "\n" for line in found.group(1).splitlines())


def check_header_examples(report):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        for header in sorted((ROOT / "include/kino").glob("*.h")):
            for number, example in enumerate(examples_of(header.read_text())):
                source = pathlib.Path(folder, f"{header.stem}_{number}.c")
                source.write_text(f"#include <stdio.h>\n#include <kino/{header.name}>\n{example}")
                done = subprocess.run([compiler, "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror",
                                       "-I", ROOT / "include", source], capture_output=True, text=True, check=False)
                report.check(f"the example of kino/{header.name} compiles", done.returncode == 0, done.stderr[:400])
            report.check(f"kino/{header.name}: code in its first comment is marked as an example",
                         not unmarked_code(header.read_text()), unmarked_code(header.read_text()))
    report.check("engine.h and kino.h have an example",
                 all(list(examples_of((ROOT / "include/kino" / name).read_text())) for name in ("engine.h", "kino.h")))
    return 0


def check_engine_example(report):
    """examples/engine, built and run against the library beside the program."""
    compiler, libraries = shutil.which("cc"), pathlib.Path(common.program()).parent
    if not compiler or not (libraries / "libkino_engine.so").is_file():
        return 1
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "engine")
        built = subprocess.run([compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", ROOT / "examples/engine/engine.c",
                                "-o", program, "-L", libraries, "-lkino_engine"], capture_output=True, text=True, check=False)
        if not report.check("examples/engine builds", built.returncode == 0, built.stderr[:400]):
            return 0
        trace = ROOT / "tests/data/cli/small.json"
        done = subprocess.run([program, trace], capture_output=True, text=True, check=False, env=dict(os.environ, LD_LIBRARY_PATH=str(libraries)))
        name = common.query(trace, "SELECT name FROM kernel GROUP BY name ORDER BY sum(dur) DESC LIMIT 1")[0][0]
        report.check("examples/engine runs", done.returncode == 0 and name[:20] in done.stdout and "total_ns" in done.stdout, done)
    return 0


def unmarked_code(text):
    head = text.split("*/", 1)[0]
    for example in re.finditer(r"^ \* Example:[^\n]*\n((?: \*(?:   [^\n]*)?\n)+)", head, re.M):
        head = head.replace(example.group(0), "")
    return [line for line in head.splitlines() if re.match(r"^ \*   .*;\s*$", line)]


# -- the README's commands

def blocks_of(text):
    return [body for language, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S) if language in ("", "sh", "bash")]


def kino_calls(block):
    for line in block.splitlines():
        line = line.split(" #")[0]
        for call in re.split(r"[|&;]+", line):
            words = call.replace("$ ", "", 1).split()
            while words and re.match(r"^[A-Z_]+=", words[0]):
                words.pop(0)
            if len(words) > 1 and words[0] == "kino":
                yield words[1:]


def check_readme(report):
    commands = set(members("src/cli/commands.def", "COMMAND"))
    calls = 0
    for block in blocks_of((ROOT / "README.md").read_text()):
        is_shell = re.search(r"^(?:[A-Z_]+=\S+ )*(?:kino|make|git|cmake|tools/\S+) ", block, re.M)
        if not is_shell:
            continue
        done = subprocess.run(["bash", "-n"], input=block.replace("<this repository>", "URL"), text=True, capture_output=True, check=False)
        report.check("a block of the README is a shell script", done.returncode == 0, done.stderr[:200] + block[:100])
        for target in re.findall(r"^make ([a-z-]+)", block, re.M):
            report.check(f"README: make {target}", re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M) is not None)
        for words in kino_calls(block):
            calls += 1
            if not report.check(f"README: kino {words[0]}", words[0] in commands):
                continue
            options = help_of(words[0])
            own = words[1:words.index("--")] if "--" in words else words[1:]
            for option in (word.split("=")[0] for word in own if word.startswith("--")):
                report.check(f"README: kino {words[0]} {option}", re.search(rf"^  {option}\b", options, re.M) is not None)
    report.check("the README shows commands", calls > 5, calls)
    named = set(re.findall(r"`kino ([a-z]+)", (ROOT / "README.md").read_text()))
    report.equal("README: commands that do not exist", sorted(named - commands), [])
    report.equal("README: commands that it does not name", sorted(commands - named), [])


# -- ARCHITECTURE's table of layers

def load_tool(name):
    path = str(ROOT / "tools" / name)
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def check_layers(report):
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `([\w/]+)` \| ([^|]*) \|$", section(text.replace("\n## ", "\n# "), "Who may include whom"), re.M)
    table = {layer: set(re.findall(r"[\w/]+", names)) for layer, names in rows}
    allowed = {layer: set(names) for layer, names in load_tool("check-layers").ALLOWED.items()}
    report.equal("ARCHITECTURE: layers", sorted(table), sorted(allowed))
    for layer in sorted(set(table) & set(allowed)):
        report.equal(f"ARCHITECTURE: what {layer} may include", sorted(table[layer]), sorted(allowed[layer]))
    folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    for folder in sorted(folders):
        report.check(f"ARCHITECTURE describes src/{folder}", f"**{folder}** (`src/{folder}/`)" in text)


def main():
    os.environ.setdefault("COLUMNS", "80")
    report = common.Report()
    check_commands(report)
    check_writers(report)
    check_readmes(report)
    skipped = check_header_examples(report) + check_engine_example(report)
    check_readme(report)
    check_layers(report)
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
