"""What needs PyTorch is among the public names of kino, and has doc strings with examples that run."""
import os

import kino
import torch
from support import common

from . import docs


def run(report):
    report.equal("the profiler's names are public", sorted(set(kino._PROFILER) - set(kino.__all__)), [])
    report.equal("and listed", sorted(set(kino._PROFILER) - set(dir(kino))), [])
    os.environ.setdefault("KINO_PROGRAM", common.program())  # what show() serves with
    with kino.profile() as recorded:
        torch.ones(2).add(1)
    docs.check_examples(report, {"kino": kino, "torch": torch, "p": recorded}, docs.public_names(kino._PROFILER), {}, 30)
