"""The side of TensorBoard: a tab, its module, and the routes below it."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional

from tensorboard.plugins import base_plugin  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .engine import LogEngine
from .wsgi import Proxy

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_NAME = "kino"
_UI = f"/data/plugin/{_NAME}/ui/"
# TensorBoard loads this into a frame; the page of the UI takes the place of it. Addresses are relative to the module's own, which
# has TensorBoard's prefix where there is one.
_MODULE = b"export function render() { location.replace(new URL('ui/', import.meta.url)); }\n"


def _module(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    start("200 OK", [("Content-Type", "text/javascript; charset=utf-8"), ("Content-Length", str(len(_MODULE))),
                     ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-cache")])
    return [_MODULE]


def log_folders(logdir: Optional[str], spec: Optional[str]) -> list[str]:
    """The folders of --logdir, or of --logdir_spec ("name:path,path")."""
    if logdir:
        return [logdir]
    folders = []
    for part in filter(None, (spec or "").split(",")):
        name, colon, rest = part.partition(":")
        folders.append(rest if colon and "/" not in name and not rest.startswith("//") else part)
    return folders


class KinoPlugin(base_plugin.TBPlugin):  # type: ignore[misc,unused-ignore]
    """TensorBoard's KINO tab."""

    plugin_name = _NAME

    def __init__(self, context: Any) -> None:
        spec = getattr(context.flags, "logdir_spec", None)
        self._engine = LogEngine(log_folders(context.logdir, spec))

    def get_plugin_apps(self) -> dict[str, WSGIApplication]:
        proxy = Proxy(self._engine, _UI)
        return {"/index.js": _module, "/ui": proxy, "/ui/*": proxy}  # TensorBoard looks for "/ui/" without its slash

    def is_active(self) -> bool:
        return self._engine.has_runs()

    def frontend_metadata(self) -> Any:
        # The UI looks for new runs and changed files by itself.
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="KINO", disable_reload=True, remove_dom=False)


class Loader(base_plugin.TBLoader):  # type: ignore[misc,unused-ignore]
    """What TensorBoard loads."""

    def load(self, context: Any) -> KinoPlugin:
        return KinoPlugin(context)
