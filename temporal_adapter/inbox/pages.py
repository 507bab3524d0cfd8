"""The pages: the list, and one for each request. Plain HTML that works without scripts; htmx only saves reloads.

Every page is made whole, and htmx takes from it the part that changed. So there is one way to show a thing.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import AfterValidator

from temporal_adapter import wire
from temporal_adapter.drawing import NotDrawn, svg
from temporal_adapter.drawing.parts import words

from .forms import Form, Mistyped, empty_form, node_of
from .forms.form import ROOT, child
from .forms.nodes import Json
from .paths import id_of, request_path, run_path
from .request_data import shown, summary
from .runs import Fate, RequestSeen, Runs, RunSeen, Trouble, told

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

Id = Annotated[str, Path(), AfterValidator(id_of)]

_MOST_FIELDS = 5_000
_AGES = {
    "1h": ("an hour", timedelta(hours=1)),
    "1d": ("a day", timedelta(days=1)),
    "3d": ("three days", timedelta(days=3)),
    "1w": ("a week", timedelta(weeks=1)),
}


@router.get("/")
async def requests_page(
    request: Request, workflow: Annotated[str, Query()] = "", age: Annotated[str, Query()] = ""
) -> Response:
    """Show the requests of all runs that wait, the newest first."""
    _, older_than = _AGES.get(age, ("", None))
    listing = await _runs(request).listing(workflow or None, older_than)
    everything = listing if not workflow and older_than is None else await _runs(request).listing()
    names = sorted({one.workflow_name for one in everything.requests} | ({workflow} if workflow else set()))
    query = urlencode({key: one for key, one in (("workflow", workflow), ("age", age)) if one})
    return _page(
        "requests.html",
        listing=listing,
        names=names,
        ages=_AGES,
        workflow=workflow,
        age=age,
        address=f"/?{query}" if query else "/",
    )


@router.get("/runs/{workflow_id}/requests/{request_id}")
async def request_page(
    request: Request,
    workflow_id: Id,
    request_id: Id,
    as_json: Annotated[bool, Query(alias="json")] = False,
    accepted: Annotated[str, Query()] = "",
) -> Response:
    """Show a request, with a form for the answer while it waits."""
    runs = _runs(request)
    seen = await runs.request(workflow_id, request_id)
    node = Json() if as_json else node_of(None if seen.request is None else seen.request.response_schema)
    given = _Given(empty_form(node), as_json, responder=_responder(request, ""))
    yours = seen.settled is not None and accepted != "" and seen.settled.checkpoint_id == accepted
    fate = Fate("accepted", "Your answer was accepted.") if yours else None
    return await _request_page(request, seen, given, fate)


@router.post("/runs/{workflow_id}/requests/{request_id}")
async def answer(request: Request, workflow_id: Id, request_id: Id) -> Response:
    """Take an answer, or what changes the form; whatever was typed is shown again unless it was accepted."""
    typed = await _typed(request)
    runs = _runs(request)
    seen = await runs.request(workflow_id, request_id)
    as_json = typed.get("json") == "1"
    node = Json() if as_json else node_of(None if seen.request is None else seen.request.response_schema)
    fields = {name: text for name, text in typed.items() if name not in _APART}
    given = _Given(Form(empty_form(node).place, fields), as_json, _responder(request, typed.get("responder", "")))
    given = given.commented(typed.get("comment", ""))
    if "add" in typed or "remove" in typed:
        changed = given.form.with_row(typed["add"]) if "add" in typed else given.form.without_row(typed["remove"])
        return await _request_page(request, seen, given.with_form(changed))
    try:
        value = given.form.value() if seen.settled is None else None
    except Mistyped as error:
        fate = Fate("refused", "Not everything is filled in as it must be; nothing was sent.")
        mended = given.with_form(given.form.with_errors(error.errors))
        return await _request_page(request, seen, mended, fate, status=422)
    if seen.settled is not None:
        fate = Fate("late", f"Your answer came too late. {told(seen.settled)}", settled=seen.settled)
    else:
        response = wire.Response(
            request_id=request_id,
            response=value,
            responder=given.responder or None,
            comment=given.comment or None,
        )
        fate = await runs.respond(workflow_id, response)
    if fate.kind == "accepted":
        accepted = urlencode({"accepted": fate.checkpoint_id or ""})
        return RedirectResponse(f"{request_path(workflow_id, request_id)}?{accepted}", 303)
    seen = await runs.request(workflow_id, request_id)
    return await _request_page(request, seen, given, fate, status=409 if fate.kind == "late" else 422)
