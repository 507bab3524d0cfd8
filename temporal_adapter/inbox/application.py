"""The application put together: pages, JSON API, static files, and the guard before all of them."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.types import ASGIApp

from . import api, pages
from .guard import Guard, Guarded
from .paths import UndecodedPaths
from .runs import Runs, Trouble

_STATIC = Path(__file__).parent / "static"
_HTMX_FILES = ("htmx-2.min.js", "htmx.min.js")  # as releases of django-htmx name it

# For htmx: the page stays as it is, with whatever was typed in it, and the reason is put on it.
_BESIDE_THE_FORM = {"HX-Retarget": "#trouble", "HX-Reselect": "#reason", "HX-Reswap": "innerHTML show:window:top"}


def application(runs: Runs, guard: Guard | None = None) -> ASGIApp:
    """Return the inbox as an ASGI application.

    Args:
        runs: What it shows.
        guard: Who may use it; by default whoever reaches this machine's loopback address.
    """
    app = FastAPI(
        title="Approvals inbox",
        description="Open requests of Microsoft Agent Framework workflows on Temporal, and their answers. "
        "Ids in paths are percent-encoded.",
        version=version("agent-framework-temporal"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
    )
    app.state.runs = runs
    app.add_exception_handler(Trouble, _trouble)
    app.add_middleware(UndecodedPaths)
    app.include_router(api.router)
    app.include_router(pages.router)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    return Guarded(app, guard or Guard())


async def _trouble(request: Request, error: Exception) -> Response:
    assert isinstance(error, Trouble)
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": str(error)}, error.status)
    shown = pages.trouble(error)
    if "hx-request" in request.headers:
        shown.headers.update(_BESIDE_THE_FORM if request.method == "POST" else {"HX-Reswap": "none"})
    return shown


async def _static(name: str) -> Response:
    files = {**{one: _STATIC / one for one in ("inbox.css", "icon.svg")}, "htmx.js": _htmx()}
    path = files.get(name)
    return Response(status_code=404) if path is None else FileResponse(path)


def _htmx() -> Path | None:
    """Return where htmx is: django-htmx ships it as a file, and nothing of its code is loaded for that.

    Without it, all pages work as plain forms.
    """
    found = importlib.util.find_spec("django_htmx")
    folders = [] if found is None else found.submodule_search_locations or []
    files = [Path(folder) / "static" / "django_htmx" / name for folder in folders for name in _HTMX_FILES]
    return next((one for one in files if one.is_file()), None)
