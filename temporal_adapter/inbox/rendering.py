"""From what the inbox knows to HTML: the template environment, and what a request's page is made of.

All text is escaped by the templates; the drawing is the one thing that is put in as it is, and it escapes for itself.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, cast
from urllib.parse import quote

from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from temporal_adapter.drawing import NotDrawn, svg, words

from .forms.form import ROOT, child
from .given import Given
from .paths import part, request_path
from .request_data import shown, summary
from .runs import Fate, RequestSeen, Runs, Trouble, told


def page(template: str, *, status: int = 200, **values: Any) -> Response:
    """Return a page."""
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(values), status)


async def request_page(
    runs: Runs, seen: RequestSeen, given: Given, fate: Fate | None = None, *, status: int = 200
) -> Response:
    """Return a request's page: its data, the graph, earlier answers, and the form with what was typed in it."""
    drawing, graph, problem = None, None, ""
    try:
        graph = await runs.graph(seen.of)
        drawing = Markup(svg(graph))
    except (NotDrawn, Trouble) as error:
        problem = str(error)
    return page(
        "request.html",
        status=status,
        seen=seen,
        given=given,
        form=given.form,
        fate=fate,
        graph=graph,
        drawing=drawing,
        problem=problem,
        address=request_path(seen.of.workflow_id, seen.request_id),
        run_address=f"/api/runs/{part(seen.of.workflow_id)}",
    )


def _age(moment: str | datetime | None) -> str:
    """Return how long ago something was."""
    when = _moment(moment)
    if when is None:
        return ""
    seconds = (datetime.now(timezone.utc) - when).total_seconds()
    for name, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {name} ago"
    return "just now"


def _left(moment: str | None) -> str:
    """Return how long it is until something."""
    when = _moment(moment)
    seconds = 0.0 if when is None else (when - datetime.now(timezone.utc)).total_seconds()
    for name, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"in {seconds // length:.0f} {name}"
    return "in a moment" if seconds > 0 else "now"


def _utc(moment: str | datetime | None) -> str:
    when = _moment(moment)
    return "" if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def _moment(moment: str | datetime | None) -> datetime | None:
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        except ValueError:
            return None
    if moment is not None and moment.tzinfo is None:
        return moment.replace(tzinfo=timezone.utc)
    return None if moment is None else moment.astimezone(timezone.utc)


def _kind(one: Any) -> str:
    """Return the name of a node's, or of a shape's, class: what a template tells them apart by."""
    return type(one).__name__


def _field_id(path: str) -> str:
    return f"f-{quote(path, safe='/')}"


def environment() -> Environment:
    """Return an environment for the templates."""
    environment = Environment(
        loader=PackageLoader("temporal_adapter.inbox"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "age": _age,
        "field_id": _field_id,
        "kind": _kind,
        "left": _left,
        "shown": shown,
        "summary": summary,
        "utc": _utc,
        "words": words,
    }
    names: dict[str, Any] = {"ROOT": ROOT, "child": child, "request_path": request_path, "told": told}
    cast("Any", environment).filters.update(filters)
    cast("Any", environment).globals.update(names)
    return environment


_ENVIRONMENT = environment()
