"""The pages: the list, and one for each request. Plain HTML that works without scripts; htmx only saves reloads.

Every page is made whole, and htmx takes from it the part that changed. So there is one way to show a thing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import AfterValidator

from temporal_adapter import wire

from .forms import Form, Mistyped, Node, empty_form, node_of
from .forms.nodes import Json
from .given import Given
from .paths import id_of, request_path
from .rendering import page, request_page
from .runs import Fate, RequestSeen, Runs, Trouble, too_late

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

Id = Annotated[str, Path(), AfterValidator(id_of)]

_MOST_FIELDS = 5_000
_APART = ("add", "remove", "json", "responder", "comment")  # fields beside those of the response
_AGES = {
    "1h": ("an hour", timedelta(hours=1)),
    "1d": ("a day", timedelta(days=1)),
    "3d": ("three days", timedelta(days=3)),
    "1w": ("a week", timedelta(weeks=1)),
}


@router.get("/")
async def show_requests(
    request: Request, workflow: Annotated[str, Query()] = "", age: Annotated[str, Query()] = ""
) -> Response:
    """Show the requests of all runs that wait, the newest first."""
    older_than = _AGES[age][1] if age in _AGES else None
    runs = _runs(request)
    listing = await runs.listing(workflow or None, older_than)
    everything = await runs.listing() if workflow or older_than else listing
    names = {one.workflow_name for one in everything.requests} | ({workflow} - {""})
    query = urlencode({key: one for key, one in (("workflow", workflow), ("age", age)) if one})
    return page(
        "requests.html",
        listing=listing,
        names=sorted(names),
        ages={key: words for key, (words, _) in _AGES.items()},
        workflow=workflow,
        age=age,
        address=f"/?{query}" if query else "/",
    )


@router.get("/runs/{workflow_id}/requests/{request_id}")
async def show_request(
    request: Request,
    workflow_id: Id,
    request_id: Id,
    as_json: Annotated[bool, Query(alias="json")] = False,
    accepted: Annotated[str, Query()] = "",
) -> Response:
    """Show a request, with a form for the answer while it waits."""
    runs = _runs(request)
    seen = await runs.request(workflow_id, request_id)
    given = _given(request, {}, as_json, seen, empty_form(_node(seen, as_json)))
    yours = seen.settled is not None and accepted != "" and seen.settled.checkpoint_id == accepted
    fate = Fate("accepted", "Your answer was accepted.") if yours else None
    return await request_page(runs, seen, given, fate)


@router.post("/runs/{workflow_id}/requests/{request_id}")
async def answer(request: Request, workflow_id: Id, request_id: Id) -> Response:
    """Take an answer, or what changes the form; whatever was typed is shown again unless it was accepted."""
    typed = await _typed(request)
    runs = _runs(request)
    seen = await runs.request(workflow_id, request_id)
    as_json = typed.get("json") == "1"
    fields = {name: text for name, text in typed.items() if name not in _APART}
    form = replace(empty_form(_node(seen, as_json)), typed=fields)
    given = _given(request, typed, as_json, seen, form)
    if "add" in typed:
        return await request_page(runs, seen, replace(given, form=form.with_row(typed["add"])))
    if "remove" in typed:
        return await request_page(runs, seen, replace(given, form=form.without_row(typed["remove"])))
    try:
        fate = await _answered(runs, seen, given)
    except Mistyped as error:
        given = replace(given, form=form.with_errors(error.errors))
        fate = Fate("refused", "Not everything is filled in as it must be. Nothing was sent.")
    if fate.kind == "accepted":
        accepted = urlencode({"accepted": fate.checkpoint_id or ""})
        return RedirectResponse(f"{request_path(workflow_id, request_id)}?{accepted}", 303)
    seen = await runs.request(workflow_id, request_id)
    return await request_page(runs, seen, given, fate, status=409 if fate.kind == "late" else 422)


async def _answered(runs: Runs, seen: RequestSeen, given: Given) -> Fate:
    """Send an answer.

    Raises:
        Mistyped: What was typed is no JSON.
    """
    if seen.settled is not None:
        return too_late(seen.settled, given.responder or None, given.comment or None)
    response = wire.Response(
        request_id=seen.request_id,
        response=given.form.value(),
        responder=given.responder or None,
        comment=given.comment or None,
    )
    return await runs.respond(seen.of.workflow_id, response)


def trouble(error: Trouble) -> Response:
    """Return the page that says what cannot be shown, and why."""
    return page("trouble.html", status=error.status, error=error)


def _given(request: Request, typed: dict[str, str], as_json: bool, seen: RequestSeen, form: Form) -> Given:
    person: str | None = request.state.person
    typed_name: str = request.state.typed_name
    responder = person or typed.get("responder", typed_name).strip()
    comment = typed.get("comment", "").replace("\r\n", "\n").strip()
    return Given(form, as_json, responder, comment, named=person is not None)


def _node(seen: RequestSeen, as_json: bool) -> Node:
    return Json() if as_json or seen.request is None else node_of(seen.request.response_schema)


async def _typed(request: Request) -> dict[str, str]:
    """Return the fields of a form that was sent; of one that came twice, the last."""
    try:
        text = (await request.body()).decode("ascii")  # a browser encodes the rest
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise Trouble(400, f"This is no form that was filled in: {error}") from error
    return dict(fields)


def _runs(request: Request) -> Runs:
    return request.app.state.runs
