#!/usr/bin/env python3
"""The TensorBoard plugin's recommendations: the same rules in the same order with the same numbers, on all its recorded
answers (compat mode), and the same triggers by default where no defect of the plugin is in the way."""
import re
import sys

from support import tensorboard

# How the plugin's texts begin, and the numbers that both texts have.
RULES = [
    ("data-loading", "This run has high time cost on input data loading.", r"([\d.]+)% of the step time", r"^([\d.]+) %"),
    ("data-parallel", "It is recommended to", None, None),
    ("nccl-backend", "Nccl backend is currently", None, None),
    ("communication", "This run has high time cost on communication.", r"([\d.]+)% of the step time", r"^([\d.]+) %"),
    ("gpu-utilization", "GPU ", r"^GPU (.*) ha(?:s|ve) low", r"^devices? ([\d, ]+):"),
    ("mixed-precision", "Kernels with", r"Kernels with (\d+)% time", r"^(\d+) %"),
    ("memory-limit", "Device memory usage is at the limit", r"\(([\d.]+)% of .* on GPU(\d+)\)", r", ([\d.]+) % of .* on GPU (\d+)"),
]

# Rules that say why a device is idle.
CAUSES = {"launch-bound", "idle-gaps"}


def numbers(pattern, text):
    """What the groups of the pattern found, as lists of numbers: "0, 1and 2" and "0, 1, 2" are the same."""
    found = re.search(pattern, text)
    return [re.findall(r"[\d.]+", group) for group in found.groups()] if found else None


def plugin_rule(text):
    for rule, beginning, golden, ours in RULES:
        if text.startswith(beginning):
            return rule, golden, ours
    raise AssertionError(f"a text of no known rule: {text[:60]}")


def main():
    failed = compared = 0
    for profile in tensorboard.profiles():
        raw = profile.golden("raw")
        if raw is None:
            continue
        want = [(plugin_rule(text), text) for text in raw["recommendations"]]
        got = profile.analyze("recommendations")["recommendations"]
        compared += 1
        if [row["rule"] for row in got] != [rule for (rule, _, _), _ in want]:
            failed += 1
            print(f"{profile.name}: rules {[row['rule'] for row in got]}, the plugin has {[w[0][0] for w in want]}")
            continue
        for row, ((rule, golden, ours), text) in zip(got, want):
            if golden and numbers(golden, text) != numbers(ours, row["seen"]):
                failed += 1
                print(f"{profile.name}: {rule}: '{row['seen']}', the plugin says '{text[:100]}'")
        # By default the plugin's rules speak as well; only D1-D3 (doubled steps, driver launches) move numbers.
        default = profile.analyze("recommendations", compat=False)["recommendations"]
        known = {rule for rule, *_ in RULES}
        said = {row["rule"] for row in default}
        if said & CAUSES:
            said.add("gpu-utilization")  # the symptom yields where its causes are told
        expected = {rule for (rule, _, _), _ in want}
        if said & known not in (expected, expected | {"gpu-utilization"}):
            failed += 1
            print(f"{profile.name}: by default {[row['rule'] for row in default]}")
    if compared == 0:
        failed += 1
        print("nothing was compared")
    print(f"{compared} profiles, {failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
