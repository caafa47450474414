#!/usr/bin/env python3
"""Do the tools of `make demo` say what they do? With stand-ins of cmake, dpkg and apt that only talk. And is a test that hangs, or
leaves a process behind, ended and named?"""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CMAKE = """#!/bin/sh
case "$1" in
--build) ;;
*) echo '-- Configuring done'; exit 0 ;;
esac
i=0
while [ $i -lt 40 ]; do i=$((i + 1)); echo "[$i/40] Building C object $i.o"; done
[ -z "$FAILS" ] || { echo 'x.c:1: error: it is wrong'; exit 1; }
"""
DPKG = """#!/bin/sh
echo not-installed
"""
APT = """#!/bin/sh
for word; do
    [ "$word" != APT::Status-Fd=3 ] || { echo 'dlstatus:1:12.5:Fetching' >&3; echo 'pmstatus:cmake:75.0:Unpacking' >&3; }
done
exit ${FAILS:-0}
"""
sys.path.insert(0, str(ROOT / "tools"))
import own_time  # noqa: E402

problems = []


def check(held, what):
    if not held:
        problems.append(what)


def on_terminal(command, env):
    """Exit code and what the program showed, with a terminal for standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return process.wait(), text.decode()


def elsewhere(command, env):
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def check_build(project, env):
    command = [project / "tools/build", "release", "--jobs", "1"]
    code, text = elsewhere(command, env)
    check(code == 0 and text == "", f"build: quiet without a terminal: {code} {text!r}")
    code, text = elsewhere([*command, "--progress"], env)
    lines = text.splitlines()
    check(code == 0 and lines[0] == "building 'release': configuring", f"build: says what it does: {text!r}")
    check(lines[-1] == "building 'release': step 40 of 40", f"build: comes to the end: {text!r}")
    check(5 <= len(lines) <= 15, f"build: a line now and then: {len(lines)}")
    code, text = on_terminal(command, env)
    check(code == 0 and "step 20 of 40" in text and text.endswith("\r\x1b[K"), f"build: on a terminal: {text[-200:]!r}")
    code, text = elsewhere([*command, "--progress"], env | {"FAILS": "1"})
    check(code == 1 and "x.c:1: error: it is wrong" in text and "Building C" not in text, f"build: fails: {code} {text!r}")
    check(not list((project / "build").glob("*.log")), "build: the log is removed")


def check_install(project, env):
    command = [project / "tools/install-deps", "build"]
    reach = project / "build/.reach-debian"
    reach.write_text("no\n")
    code, text = elsewhere(command, env)
    check(code == 1 and text.endswith("cannot be reached\n") and " cmake " in text, f"install-deps: without a network: {code} {text!r}")
    reach.write_text("yes\n")
    code, text = elsewhere(command, env)
    lines = text.splitlines()
    check(code == 0 and " Debian packages, which may take minutes: " in lines[0] and " cmake " in lines[0],
          f"install-deps: says what it does: {text!r}")
    check(lines[-1] == "install-deps: done", f"install-deps: says the end: {text!r}")
    code, text = on_terminal(command, env)
    check(code == 0 and "fetching, 12 %" in text and "installing cmake, 75 %" in text, f"install-deps: on a terminal: {text!r}")
    for run in (elsewhere, on_terminal):
        code, text = run(command, env | {"FAILS": "100"})
        check(code != 0 and "install-deps: done" not in text, f"install-deps: a failure is one: {code} {text!r}")


def check_limits():
    """What a test's runner does with a program that does not end."""
    def reason(script, limit=1):
        try:
            done = own_time.run(["sh", "-c", script], limit)
            return done.returncode, done.stdout
        except own_time.TooLong as late:
            return str(late), late.out

    own_time.LEFT_SECONDS, own_time.IDLE_SECONDS = 1, 2
    check(reason("echo told; exit 3") == (3, b"told\n"), "limits: a program that ends")
    said = reason("echo told; setsid sleep 1001 & exit 0")
    check(said == ("ended, but its output is still held open; ended: sleep 1001", b"told\n"), f"limits: left behind: {said}")
    said = reason("echo told; exec sleep 1002")
    check(said[0].startswith("hangs: no processor time used for 2 s") and said[1] == b"told\n", f"limits: hangs: {said}")
    said = reason("while :; do :; done")
    check(said[0].startswith("more than 1 s of processor time"), f"limits: computes: {said}")


def main():
    check_limits()
    with tempfile.TemporaryDirectory() as folder:
        project, programs = pathlib.Path(folder, "project"), pathlib.Path(folder, "bin")
        shutil.copytree(ROOT / "tools", project / "tools")
        programs.mkdir()
        for name, text in (("cmake", CMAKE), ("dpkg-query", DPKG), ("apt-get", APT), ("sudo", '#!/bin/sh\nexec "$@"\n')):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", LC_ALL="C")
        env.pop("FAILS", None)
        check_build(project, env)
        check_install(project, env)
    print("\n".join(f"FAIL {problem}" for problem in problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
