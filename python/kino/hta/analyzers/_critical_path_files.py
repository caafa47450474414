"""Graphs of critical paths in files, as HTA lays them out: a zip file of the events as CSV, and of the graph and its maps as pickles.

A pickle can name any function to be called. Here only the types of a graph and numbers are accepted, so that reading a file runs
no code of whoever wrote it; files of HTA are read as well."""
from __future__ import annotations

import io
import os
import pickle
import zipfile
from dataclasses import fields
from typing import Any, Callable

import numpy as np
import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ._critical_path_types import CPEdge, CPEdgeType, CPGraphData, CPNode

_FRAME, _GRAPH, _DATA = "trace_data.csv", "cp_graph.pkl", "cp_data.pkl"
_HTA = "hta.analyzers.critical_path_analysis"


def _edge_type(kind: Any, name: str) -> CPEdgeType:
    """What some versions of Python write for a member of an enumeration: getattr(type, name)."""
    if kind is not CPEdgeType:
        raise pickle.UnpicklingError(f"'getattr' of {kind!r} is not part of a graph")
    return CPEdgeType[name]


def _number(kind: Any, raw: bytes) -> Any:
    if not isinstance(kind, np.dtype) or kind.kind not in "biuf":
        raise pickle.UnpicklingError(f"a value of type {kind!r} is not part of a graph")
    return np.frombuffer(raw, dtype=kind)[0]


def _allowed() -> dict[tuple[str, str], Callable[..., Any]]:
    found: dict[tuple[str, str], Callable[..., Any]] = {("builtins", "getattr"): _edge_type, ("numpy", "dtype"): np.dtype}
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        found[module, "scalar"] = _number
    for kind in (CPNode, CPEdge, CPEdgeType, CPGraphData):
        found[kind.__module__, kind.__name__] = kind
        found[_HTA, kind.__name__] = kind
    found[_HTA, "_CPGraphData"] = CPGraphData
    return found


_ALLOWED = _allowed()


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"'{module}.{name}' is not part of a graph")
        return _ALLOWED[module, name]


def write(out_dir: str, frame: Any, links: dict[str, Any], data: CPGraphData) -> str:
    """Writes the three files into a directory and into a zip file beside it; gives the path of the latter."""
    os.makedirs(out_dir, exist_ok=True)
    paths = [os.path.join(out_dir, name) for name in (_FRAME, _GRAPH, _DATA)]
    frame.to_csv(paths[0], index=True, index_label="_index_")
    for path, content in zip(paths[1:], (links, data)):
        with open(path, "wb") as file:
            pickle.dump(content, file)
    name = f"{out_dir}.zip"
    with zipfile.ZipFile(name, "w") as archive:
        for path in paths:
            archive.write(path)
    return name


def read(zip_filename: str) -> tuple[Any, dict[str, Any], CPGraphData]:
    """Frame, nodes and edges, and maps. ValueError where the file is not one of a graph; what it has beside is not read."""
    try:
        with zipfile.ZipFile(zip_filename) as archive:
            members = {os.path.basename(name): name for name in archive.namelist()}
            frame, graph, data = (archive.read(members[name]) for name in (_FRAME, _GRAPH, _DATA))
        links, maps = (_Reader(io.BytesIO(raw)).load() for raw in (graph, data))
        if not isinstance(links, dict) or not isinstance(maps, CPGraphData):
            raise pickle.UnpicklingError("the pickles do not contain a graph")
        missing = [field.name for field in fields(maps) if field.name not in vars(maps)]
        if missing:
            raise pickle.UnpicklingError(f"the pickles have no {missing[0]}")
        return pd.read_csv(io.BytesIO(frame)).set_index("_index_"), links, maps
    except FileNotFoundError:
        raise
    except KeyError as missing_file:
        raise ValueError(f"'{zip_filename}' is not a saved graph: it has no {missing_file}") from missing_file
    except Exception as error:  # a damaged pickle raises anything
        raise ValueError(f"'{zip_filename}' is not a saved graph: {error}") from error
