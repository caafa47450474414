"""The server behind the tab: `kino serve` on the folders of a log directory, as a child that ends with TensorBoard, on a unix socket of mode 0600."""
from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import tempfile
import threading
from typing import Optional

from .._child import Child
from .._errors import Error
from .._remote import Lease, is_remote
from .wsgi import ask

_FRAMES = "'self'"
_REFRESH_SECONDS = 30
_PREFIX = "unix:"


class LogEngine:
    """Starts on first use, and again when it was ended by something else."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = [folder[len("file://"):] if folder.startswith("file://") else folder for folder in folders]
        self._remote = [folder for folder in self._folders if is_remote(os.fsencode(folder))]
        self._leases: dict[str, Lease] = {}
        self._child: Optional[Child] = None
        self._lock = threading.Lock()
        self._is_closed = threading.Event()

    @property
    def is_remote(self) -> bool:
        """Does anything have to be downloaded?"""
        return bool(self._remote)

    def socket_path(self) -> str:
        """Where it listens."""
        with self._lock:
            if self._child is None or not self._child.is_running():
                self._fetch()
                self._child = self._start()
            return self._child.address[len(_PREFIX):]

    def _start(self) -> Child:
        # A name that nobody can guess, in a folder where nobody else can remove it; the server makes it, and removes it at its end.
        place = os.path.join(tempfile.gettempdir(), f"kino-{secrets.token_hex(16)}.sock")
        paths = [self._leases[folder].path if folder in self._leases else folder for folder in self._folders]
        return Child("--socket", place, "--frame-ancestors", _FRAMES, "--", *(path for path in paths if os.path.exists(path)))

    def _fetch(self) -> None:
        missing = [folder for folder in self._remote if folder not in self._leases]
        for folder in missing:
            self._leases[folder] = Lease(folder)
            threading.Thread(target=self._follow, args=(self._leases[folder],), daemon=True).start()

    def _follow(self, lease: Lease) -> None:
        """Fetches what a log folder grows by; the server sees new files by itself."""
        while not self._is_closed.wait(_REFRESH_SECONDS):
            with contextlib.suppress(Error):  # the store may be back the next time
                lease.refresh()

    def has_runs(self) -> bool:
        """Are there traces in the folders?"""
        if self._remote:
            return True
        if not any(os.path.isdir(folder) or os.path.isfile(folder) for folder in self._folders):
            return False
        try:
            connection, response = ask(self.socket_path(), {"REQUEST_METHOD": "GET"}, "/api/v1/runs", b"")
            with contextlib.closing(connection):
                return bool(json.load(response)["runs"])
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False

    def close(self) -> None:
        """Ends it. Asked again, it starts again, without a look at remote stores."""
        self._is_closed.set()
        with self._lock:
            if self._child:
                self._child.close()
            self._child = None
