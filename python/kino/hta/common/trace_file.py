"""Finding trace files and their ranks; reading and writing them whole."""
from __future__ import annotations

import gzip
import json
import os
import re
from typing import IO, Any, Optional

from ..configs.config import logger

_RANK = re.compile(rb'"rank":\s*(\d+)')
_CHUNK = 1 << 20
_LONGEST = 256  # of what the pattern matches


def _open(file_path: str) -> IO[bytes]:
    return gzip.open(file_path, "rb") if file_path.endswith("gz") else open(file_path, "rb")  # type: ignore[return-value]


def _rank_of(file_path: str) -> Optional[int]:
    """The first rank that the file tells. HTA wants a blank before the number, which minified files do not have."""
    before = b""
    with _open(file_path) as file:
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            found = _RANK.search(before + chunk)
            if found:
                return int(found[1])
            before = chunk[-_LONGEST:]
    return None


def create_rank_to_trace_dict_from_dir(trace_dir: str) -> tuple[bool, dict[int, str]]:
    """The .json and .gz files of a folder by rank; False where there are none.

    >>> from kino.hta.common.trace_file import create_rank_to_trace_dict_from_dir
    >>> ok, files = create_rank_to_trace_dict_from_dir("demo-run")
    >>> ok, sorted(files)
    (True, [0, 1])
    """
    if not (os.path.exists(trace_dir) and os.access(trace_dir, os.R_OK)):
        logger.error("trace_path %s doesn't exist or is not readable", trace_dir)
        return False, {}
    names = [name for name in os.listdir(trace_dir) if name.endswith((".gz", ".json"))]
    if not names:
        logger.warning("No trace file is found in %s", trace_dir)
        return False, {}
    return create_rank_to_trace_dict([os.path.join(trace_dir, name) for name in names])


def create_rank_to_trace_dict(file_list: list[str]) -> tuple[bool, dict[int, str]]:
    """Files by the rank that they tell; one that tells none is rank 0. The last of a rank counts.

    >>> from kino.hta.common.trace_file import create_rank_to_trace_dict
    >>> create_rank_to_trace_dict(["demo-run/rank-1.json"])
    (True, {1: 'demo-run/rank-1.json'})
    """
    files: dict[int, str] = {}
    for path in file_list:
        rank = _rank_of(path)
        if rank is None:
            logger.warning('%s tells no rank ("distributedInfo": {"rank": 0}): it is taken for rank 0', path)
            rank = 0
        if rank in files:
            logger.warning("Files %s and %s have the same rank: %s is used for rank %s", files[rank], path, path, rank)
        files[rank] = path
    return True, files


def get_trace_files(trace_path: str) -> dict[int, str]:
    """The files of a folder by rank; nothing where there is none.

    >>> from kino.hta.common.trace_file import get_trace_files
    >>> sorted(get_trace_files("demo-run"))
    [0, 1]
    """
    if not os.path.exists(trace_path):
        logger.warning("%s is not a valid path", trace_path)
        return {}
    ok, files = create_rank_to_trace_dict_from_dir(trace_path)
    return files if ok else {}


def read_trace(file_path: str) -> dict[str, Any]:
    """The document of a .json or .gz file.

    >>> from kino.hta.common.trace_file import read_trace
    >>> "traceEvents" in read_trace("demo-run/rank-0.json")
    True
    """
    if not file_path.endswith((".gz", ".json")):
        raise ValueError(f"trace_file ({file_path}) must end with '.gz' or 'json'")
    with _open(file_path) as file:
        document: dict[str, Any] = json.loads(file.read())
    return document


def write_trace(trace_data: dict[str, Any], file_path: str) -> None:
    """Writes a document, compressed if the name says so; makes its folder.

    >>> from kino.hta.common.trace_file import write_trace
    >>> write_trace({"traceEvents": []}, "written/empty.json.gz")
    """
    folder = os.path.dirname(file_path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    if file_path.endswith(".gz"):
        with gzip.open(file_path, "wb") as file:
            file.write(json.dumps(trace_data).encode())
        return
    with open(file_path, "w", encoding="utf-8") as text:
        text.write(json.dumps(trace_data, indent=2))


def update_trace_rank(file_path: str, rank: int) -> None:
    """Writes the rank into a file.

    >>> from kino.hta.common.trace_file import read_trace, update_trace_rank, write_trace
    >>> write_trace({"traceEvents": []}, "written/ranked.json"); update_trace_rank("written/ranked.json", 3)
    >>> read_trace("written/ranked.json")["distributedInfo"]
    {'rank': 3}
    """
    document = read_trace(file_path)
    document.setdefault("distributedInfo", {})["rank"] = rank
    write_trace(document, file_path)
