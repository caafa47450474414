#!/usr/bin/env python3
"""Documents against what they describe: manual pages, folder READMEs, examples in headers, commands of README and guide, links, ARCHITECTURE's layers.

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
    known = {f"kino-{command}" for command in members("src/cli/commands.def", "COMMAND")} | {"kino-mpi"}
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
    report.check("builder.h, engine.h, kino.h and partial.h have an example",
                 all(list(examples_of((ROOT / "include/kino" / name).read_text())) for name in ("builder.h", "engine.h", "kino.h", "partial.h")))
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


README_WORDS = 900
PAGES = ("README.md", "docs/guide.md")
NOT_RUN = {"serve", "record", "daemon", "status", "trigger", "doctor"}  # they wait, or depend on the machine: their own tests run them


def check_block(report, page, block, commands):
    """A block of commands is a shell script; its targets, commands and options exist. Returns the calls of kino in it."""
    done = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True, check=False)
    report.check(f"{page}: a block is a shell script", done.returncode == 0, done.stderr[:200] + block[:100])
    for target in re.findall(r"^make ([a-z-]+)", block, re.M):
        report.check(f"{page}: make {target}", re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M) is not None)
    calls = list(kino_calls(block))
    for words in calls:
        if not report.check(f"{page}: kino {words[0]}", words[0] in commands):
            continue
        options = help_of(words[0])
        own = words[1:words.index("--")] if "--" in words else words[1:]
        for option in (word.split("=")[0] for word in own if word.startswith("--")):
            report.check(f"{page}: kino {words[0]} {option}", re.search(rf"^  {option}\b", options, re.M) is not None)
    return calls


def run_lines(report, page, block, folder):
    """Runs the lines of a block that begin with kino, as they stand, in a directory with the run and the trace that they name."""
    path = os.pathsep.join([str(pathlib.Path(common.program()).parent), os.environ["PATH"]])
    for line in block.splitlines():
        words = line.split(" #")[0].split("| flamegraph.pl")[0].rstrip()
        if not words.startswith("kino ") or words.split()[1] in NOT_RUN:
            continue
        done = subprocess.run(["bash", "-c", words], cwd=folder, env=dict(os.environ, PATH=path), capture_output=True, check=False)
        is_gate = "--fail-on" in words
        report.check(f"{page}: {words}", done.returncode == 0 or (is_gate and done.returncode == 3), done)


def make_inputs(folder):
    """demo-run as make demo leaves it, run/ and trace.json.gz."""
    for name in ("demo-run", "run"):
        common.run("demo", pathlib.Path(folder, name), "--no-info", "--quiet")
    common.run("convert", next(pathlib.Path(folder, "run").glob("*.json*")), pathlib.Path(folder, "trace.json.gz"), "--quiet")


def check_pages(report):
    commands, calls, named = set(members("src/cli/commands.def", "COMMAND")), 0, {}
    with tempfile.TemporaryDirectory() as folder:
        make_inputs(folder)
        for page in PAGES:
            text = (ROOT / page).read_text()
            named[page] = set(re.findall(r"`kino ([a-z]+)", text))
            for block in blocks_of(text):
                if re.search(r"^(?:[A-Z_]+=\S+ )*(?:kino|make|git|cmake|tools/\S+) ", block, re.M):
                    calls += len(check_block(report, page, block, commands))
                    run_lines(report, page, block, folder)
    report.check("the pages show commands", calls > 15, calls)
    for page in PAGES:
        report.equal(f"{page}: commands that do not exist", sorted(named[page] - commands), [])
        report.equal(f"{page}: commands that it does not name", sorted(commands - named[page]), [])
    words = len((ROOT / "README.md").read_text().split())
    report.check(f"README.md has at most {README_WORDS} words", words <= README_WORDS, words)


def check_links(report):
    """Files that documents link to exist."""
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)):
            report.check(f"{page.relative_to(ROOT)}: link to {target}", (page.parent / target).exists())


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
    check_pages(report)
    check_links(report)
    check_layers(report)
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
