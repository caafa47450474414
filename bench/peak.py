#!/usr/bin/env python3
"""The peak memory of a program, mapped files included: bench/peak.py COMMAND [ARGUMENT...]. Prints {"peak_bytes": N}.

To be run as a process of its own: until it calls exec, a new process is its parent, and the kernel counts the parent's peak as
its own. What this small process has (about 10 MB) is the least that can be seen; that much is counted, never added."""
import json
import os
import sys


def main():
    command = sys.argv[1:]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{os.path.basename(command[0])}: {os.waitstatus_to_exitcode(status)} is its exit code")
    print(json.dumps({"peak_bytes": used.ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
