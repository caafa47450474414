"""From WSGI to a server on a unix socket and back: a proxy for `kino serve` that knows nothing of TensorBoard.

Headers go through lists, in both directions: nothing that is between the browser and TensorBoard (cookies, credentials) reaches the
engine, and nothing that is between the engine and us (connections, lengths of chunks) reaches the browser. Bodies of answers are passed on
piece by piece."""
from __future__ import annotations

import contextlib
import http.client
import json
import socket
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Callable, Optional, Protocol

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_TO_ENGINE = {"HTTP_ACCEPT_ENCODING": "Accept-Encoding", "HTTP_HOST": "Host", "HTTP_ORIGIN": "Origin",
              "HTTP_SEC_FETCH_SITE": "Sec-Fetch-Site", "HTTP_SEC_FETCH_MODE": "Sec-Fetch-Mode", "CONTENT_TYPE": "Content-Type"}
_TO_BROWSER = ("Content-Type", "Content-Length", "Content-Encoding", "Content-Disposition", "Content-Security-Policy", "Cache-Control",
               "Vary", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Kino-Truncated", "Retry-After", "Allow")
_METHODS = ("GET", "HEAD", "POST")
_MOST_BODY = 1 << 20  # as the engine's
_PIECE = 64 << 10
_SECONDS = 400  # the engine's longest, and some


class Engine(Protocol):
    """What answers: the path of its socket, after it has been started where it was not running."""

    def socket_path(self) -> str: ...


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(self._path)


class _Body:
    """Pieces of an answer; closes the connection when the server is done with it, so that the engine stops work for nobody."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection, self._response = connection, response

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._response.read(_PIECE):
            yield piece

    def close(self) -> None:
        self._response.close()
        self._connection.close()


def _refuse(start: StartResponse, status: str, message: str) -> Iterable[bytes]:
    """An error as the engine's look."""
    body = json.dumps({"error": {"status": int(status.split()[0]), "message": message}}).encode() + b"\n"
    start(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("X-Content-Type-Options", "nosniff"),
                   ("Cache-Control", "no-store")])
    return [body]


def _body_of(environ: WSGIEnvironment) -> Optional[bytes]:
    """The body of a request; None: too large, or of unknown size."""
    text = environ.get("CONTENT_LENGTH") or "0"
    size = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else _MOST_BODY + 1
    if size > _MOST_BODY or environ.get("HTTP_TRANSFER_ENCODING"):
        return None
    read: Callable[[int], bytes] = environ["wsgi.input"].read
    return read(size) if size else b""


def ask(path: str, environ: WSGIEnvironment, target: str, body: bytes) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """The engine's answer, as soon as it begins."""
    method = environ["REQUEST_METHOD"]
    connection = _Connection(path)
    try:
        connection.putrequest(method, target, skip_host="HTTP_HOST" in environ, skip_accept_encoding=True)
        for variable, name in _TO_ENGINE.items():
            if environ.get(variable):
                connection.putheader(name, environ[variable])
        if method == "POST":
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # whoever does not want it has answered already
            connection.send(body)
        return connection, connection.getresponse()
    except BaseException:
        connection.close()
        raise


class Proxy:
    """A WSGI application: what follows ``prefix`` in the path is asked of the engine."""

    def __init__(self, engine: Engine, prefix: str) -> None:
        self._engine, self._prefix = engine, prefix

    def _target(self, environ: WSGIEnvironment) -> Optional[str]:
        """The address for the engine, escaped as it was; None: this path is not ours."""
        path: str = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")
        if not path.startswith(self._prefix):
            return None
        query = environ.get("QUERY_STRING", "")
        return "/" + urllib.parse.quote(path[len(self._prefix):], safe="/.-_~") + (f"?{query}" if query else "")

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in _METHODS:
            return _refuse(start, "405 Method Not Allowed", "method is not allowed")
        if environ.get("PATH_INFO") == self._prefix[:-1]:
            start("308 Permanent Redirect", [("Location", self._prefix.split("/")[-2] + "/"), ("Content-Type", "text/plain; charset=utf-8"),
                                             ("Content-Length", "0"), ("X-Content-Type-Options", "nosniff")])
            return []
        target = self._target(environ)
        if target is None or not target.isascii() or any(c.isspace() for c in target):
            return _refuse(start, "404 Not Found", "not found")
        body = _body_of(environ)
        if body is None:
            return _refuse(start, "413 Content Too Large", f"request body is larger than {_MOST_BODY} bytes")
        try:
            connection, response = ask(self._engine.socket_path(), environ, target, body)
        except TimeoutError:
            return _refuse(start, "504 Gateway Timeout", "the engine took too long")
        except Exception as error:  # it could not be started, has just ended, or the address is not valid
            return _refuse(start, "502 Bad Gateway", f"the engine does not answer: {error}")
        return _pass_on(environ, start, connection, response)


def _pass_on(environ: WSGIEnvironment, start: StartResponse, connection: http.client.HTTPConnection,
             response: http.client.HTTPResponse) -> Iterable[bytes]:
    headers: list[tuple[str, Any]] = [(name, response.headers[name]) for name in _TO_BROWSER if response.headers[name] is not None]
    start(f"{response.status} {response.reason}", headers)
    body = _Body(connection, response)
    if environ["REQUEST_METHOD"] == "HEAD":
        body.close()
        return []
    return body
