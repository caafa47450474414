"""%%kino: a cell of IPython or Jupyter under kino.profile.

    %load_ext kino

    %%kino --shapes --table 10
    train(batch)

Shows the report. The profiler is `kino_profile` afterwards: `kino_profile.show()` has the web UI, `kino_profile.run()` the engine's run.
"""
from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.display import display

_NAME = "kino_profile"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%kino: {message}")


def _parser() -> _Parser:
    parser = _Parser(prog="%%kino", description="Runs the cell under kino.profile and shows where the time went.", add_help=False)
    parser.add_argument("--shapes", action="store_true", help="shapes and types of the inputs")
    parser.add_argument("--memory", action="store_true", help="allocations")
    parser.add_argument("--stack", action="store_true", help="Python functions")
    parser.add_argument("--table", type=int, metavar="N", help="a table of the N operators that take longest, in place of the report")
    parser.add_argument("--save", metavar="FILE", help="write the trace")
    parser.add_argument("--show", action="store_true", help="the web UI, in place of the report")
    return parser


def _shown(profiler: Any, options: argparse.Namespace) -> None:
    if options.show:
        display(profiler.show())
    elif options.table is not None:
        print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=options.table))
    else:
        display(profiler.report())


def register(shell: Any) -> None:
    """Adds the magic to an interactive shell."""
    def kino(line: str, cell: str) -> None:
        from ..profiler import profile
        options = _parser().parse_args(shlex.split(line))
        profiler = profile(record_shapes=options.shapes, profile_memory=options.memory, with_stack=options.stack)
        with profiler:
            done = shell.run_cell(cell)
        shell.push({_NAME: profiler})
        if options.save:
            profiler.export_chrome_trace(options.save)
        if done.success:
            _shown(profiler, options)

    kino.__doc__ = _parser().format_help()
    shell.register_magic_function(kino, magic_kind="cell", magic_name="kino")
