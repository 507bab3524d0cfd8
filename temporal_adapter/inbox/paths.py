"""Addresses of pages: workflow ids and request ids as parts of a path, whatever characters they have.

An id is percent-encoded, so that it stays one part: `a/b` is `a%2Fb`. The one thing that browsers do not keep apart is
an id of one dot, or two, however it is encoded; it has a tilde before it.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_DOTS = re.compile(r"~*\.{1,2}")
_MARKED_DOTS = re.compile(r"~+\.{1,2}")


def part(id: str) -> str:
    """Return an id as a part of a path."""
    return quote(f"~{id}" if _DOTS.fullmatch(id) else id, safe="")


def id_of(part: str) -> str:
    """Return the id that a part of a path stands for."""
    id = unquote(part)
    return id[1:] if _MARKED_DOTS.fullmatch(id) else id


def request_path(workflow_id: str, request_id: str) -> str:
    """Return the path of a request's page."""
    return f"/runs/{part(workflow_id)}/requests/{part(request_id)}"


def run_path(workflow_id: str) -> str:
    """Return the path that what belongs to a run begins with."""
    return f"/runs/{part(workflow_id)}"


class UndecodedPaths:
    """Routes by the path as it was sent, so that an encoded slash stays part of an id. Routes decode with `id_of`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes | None = scope.get("raw_path")
        if scope["type"] == "http" and raw is not None:
            scope = {**scope, "path": raw.split(b"?")[0].decode("ascii", "replace")}
        await self._app(scope, receive, send)
