"""The web UI from Python: in notebooks as a frame in the cell, elsewhere by its address."""
from __future__ import annotations

import os
import shutil
import tempfile
import urllib.parse
import weakref
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Optional

from ._child import Child
from ._remote import Lease, localize
from ._values import Paths, Size, path_list, size_in_bytes

if TYPE_CHECKING:
    from ._run import Run

# Notebooks are pages of Jupyter on this machine, or of VS Code. Behind a proxy page and frame have one origin.
_FRAMES = "'self' http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:* vscode-webview:"
_HEIGHT = 800


def _proxy_template(proxy: Optional[str]) -> Optional[str]:
    """Where a browser reaches a port of this machine; None: directly."""
    if proxy is not None:
        return proxy or None
    hub = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    return os.environ.get("KINO_PROXY") or (f"{hub.rstrip('/')}/proxy/{{port}}/" if hub else None)


class Server:
    """The web UI of some traces, served to this machine until close() or the end of this process. Made by kino.serve and
    Run.show; a notebook shows the page.

    >>> with kino.serve("demo-run") as server:
    ...     server.url
    'http://127.0.0.1:.../#/overview'
    """

    def __init__(self, paths: list[bytes], *, proxy: Optional[str] = None, port: int = 0, memory: int = 0, page: str = "overview",
                 params: Optional[dict[str, str]] = None, height: int = _HEIGHT, leases: Optional[list[Lease]] = None,
                 folder: Optional[str] = None) -> None:
        template = _proxy_template(proxy)
        arguments = ["--port", str(port), "--frame-ancestors", _FRAMES]
        if template:  # its name for us is not known: a token decides instead, which the engine makes
            arguments += ["--allow-host", "*"]
        if memory:
            arguments += ["--memory", str(memory)]
        self._child = Child(*arguments, "--", *map(os.fsdecode, paths))
        self._leases = leases
        self.source: object = None  # what has to live as long as the server, which reads its files
        self._clean = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True) if folder else None
        self._template, self._page, self._params, self._height = template, page, params or {}, height

    @property
    def address(self) -> str:
        """The address for programs on this machine (docs/formats/http.md has what they can ask).

        >>> import json, urllib.request
        >>> with kino.serve("demo-run") as server:
        ...     answer = json.load(urllib.request.urlopen(server.address + "api/v1/status"))
        >>> answer["kino"]
        1
        """
        return self._child.address

    @property
    def url(self) -> str:
        """The address of the page for a browser: through the proxy where there is one.

        >>> with kino.serve("demo-run", page="timeline", proxy="/proxy/{port}/") as server:
        ...     server.url
        '/proxy/.../?token=...#/timeline'
        """
        address = urllib.parse.urlsplit(self.address)
        query = urllib.parse.urlencode(self._params)
        place = f"#/{self._page}" + (f"?{query}" if query else "")
        if not self._template:
            return self.address + place
        return self._template.replace("{port}", str(address.port)) + (f"?{address.query}" if address.query else "") + place

    def is_running(self) -> bool:
        """Does it still answer?

        >>> server = kino.serve("demo-run")
        >>> server.close()
        >>> server.is_running()
        False
        """
        return self._child.is_running()

    def close(self) -> None:
        """Ends it.

        >>> kino.serve("demo-run").close()
        """
        self._child.close()
        if self._clean:
            self._clean()
        _kept.discard(self)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kino.Server: {self.url}>" if self.is_running() else "<kino.Server: closed>"

    def _repr_html_(self) -> str:
        if not self.is_running():
            return "<p>kino.Server: closed</p>"
        url = escape(self.url, quote=True)
        return (f'<iframe src="{url}" style="width: 100%; height: {self._height}px; border: 0" title="Kino"></iframe>'
                f'<p><a href="{url}" target="_blank" rel="noopener">Open in a tab of its own</a></p>')


_kept: set[Server] = set()  # the page in a cell must not go when nobody holds the object


def _keep(server: Server) -> Server:
    _kept.add(server)
    return server


def serve(paths: Paths, *, page: str = "overview", port: int = 0, proxy: Optional[str] = None, memory: Optional[Size] = None,
          height: int = _HEIGHT) -> Server:
    """Serves the web UI of traces and directories of runs, on a free port of the loopback address; a notebook shows it as a
    frame of ``height`` pixels. It goes on until close() or the end of this process.

    ``page`` is the first one ("timeline", "operators", "sql"). ``proxy`` says how a browser elsewhere gets to a port of this
    machine, such as "/proxy/{port}/" for jupyter-server-proxy; the default is the variable KINO_PROXY, or JupyterHub's.
    ``memory`` limits what loaded runs may take.

    >>> with kino.serve("demo-run") as server:
    ...     server.is_running()
    True
    """
    places, leases = localize(path_list(paths))
    return _keep(Server(places, page=page, port=port, proxy=proxy, memory=size_in_bytes(memory), height=height, leases=leases))


def show(run: Run, *, page: str, height: int, proxy: Optional[str]) -> Server:
    """The page of one run: of its files, or, where it is not what its files are, of a copy of it."""
    source = run._source
    params = {} if source is None else {key: value for key, value in (("run", source.run), ("span", source.span)) if value}
    if source is not None:
        return _keep(Server(source.paths, page=page, params=params, height=height, proxy=proxy, leases=source.leases))
    folder = tempfile.mkdtemp(prefix="kino-show-")
    try:
        run.convert(os.path.join(folder, ""), to="kino")
        return _keep(Server([os.fsencode(folder)], page=page, height=height, proxy=proxy, folder=folder))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
