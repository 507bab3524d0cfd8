"""The JSON API: the same as the pages, for programs. Its OpenAPI description is at `/api/openapi.json`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from temporal_adapter import wire
from temporal_adapter.client.listing import OpenRequest
from temporal_adapter.drawing import NotDrawn, mermaid, svg

from .paths import id_of, request_path
from .runs import Runs, Trouble

router = APIRouter(prefix="/api", tags=["inbox"])

WorkflowId = Annotated[str, Path(description="Percent-encoded."), AfterValidator(id_of)]
RequestId = Annotated[str, Path(description="Percent-encoded."), AfterValidator(id_of)]


class Pending(BaseModel):
    """A request that waits for a response."""

    request_id: str
    executor_id: str = Field(description="Who asks.")
    request_type: str
    response_type: str
    data: Any = Field(description='Plain JSON; `{"ref": ..., "size": ...}` of what only the blob store has.')
    response_schema: Any = Field(None, description="JSON schema of the response type; null: it has none.")
    asked_at: str | None = None
    expires_at: str | None = None
    on_expiry: Literal["fail", "cancel", "default"] | None = None
    reminders: int = Field(0, description="Sent so far.")


class Listed(BaseModel):
    """A request that waits, with the run that asks."""

    workflow_id: str
    run_id: str
    workflow_name: str
    task_queue: str
    started_at: datetime
    page: str = Field(description="Path of its page.")
    request: Pending


class Silent(BaseModel):
    """An open run that could not be asked for its requests."""

    workflow_id: str
    reason: str


class Requests(BaseModel):
    """The requests that wait, the newest first."""

    requests: list[Listed]
    unanswered: list[Silent] = Field(description="Open runs that could not be asked.")
    more: int = Field(description="How many requests there are beyond these.")


class Answer(BaseModel):
    """What became of a response, a cancellation or an expiry: an entry of the run's audit trail."""

    request_id: str
    outcome: Literal["accepted", "refused", "cancelled", "expired"]
    executor_id: str | None = None
    source: Literal["person", "deadline", "replay"] = "person"
    response: Any = None
    responder: str | None = None
    comment: str | None = None
    at: str | None = None
    checkpoint_id: str | None = None
    reason: str | None = None


class One(BaseModel):
    """A request, whether it waits or not."""

    workflow_id: str
    workflow_name: str
    task_queue: str
    request_id: str
    state: Literal["pending", "answered", "cancelled", "expired"]
    request: Pending | None = Field(description="While it waits.")
    settled: Answer | None = Field(description="What became of it, when it waits no more.")
    answers: list[Answer] = Field(description="The run's audit trail, oldest first.")


class Given(BaseModel):
    """A response."""

    model_config = ConfigDict(extra="forbid")

    response: Any = Field(description="JSON of the request's response type.")
    responder: str | None = Field(None, description="Who answers. Behind a proxy that names people, its word counts.")
    comment: str | None = None


class Accepted(BaseModel):
    """The response was accepted, and is in flight in this checkpoint."""

    request_id: str
    checkpoint_id: str | None


class Refusal(BaseModel):
    """Why something could not be done."""

    detail: str


class Late(Refusal):
    """Another answer was before this one, or the request was cancelled or expired."""

    settled: Answer | None


_UNREADABLE: dict[int | str, dict[str, Any]] = {
    404: {"model": Refusal, "description": "There is no such run or request"},
    502: {"model": Refusal, "description": "The Temporal server does not answer"},
    503: {"model": Refusal, "description": "No worker answers for the run"},
}


@router.get("/requests", responses={502: _UNREADABLE[502]})
async def list_requests(
    request: Request,
    workflow: Annotated[str | None, Query(description="Only of this workflow.")] = None,
    older_than: Annotated[
        timedelta | None, Query(description="Only what has waited so long: seconds, or ISO 8601 such as PT1H.")
    ] = None,
) -> Requests:
    """List the requests of all runs that wait for a response, the newest first."""
    listing = await _runs(request).listing(workflow, older_than)
    return Requests(
        requests=[_listed(one) for one in listing.requests],
        unanswered=[Silent(workflow_id=one.workflow_id, reason=one.reason) for one in listing.unanswered],
        more=listing.more,
    )


@router.get("/runs/{workflow_id}/requests/{request_id}", responses=_UNREADABLE)
async def show_request(request: Request, workflow_id: WorkflowId, request_id: RequestId) -> One:
    """Show a request with what became of it, and the run's audit trail."""
    seen = await _runs(request).request(workflow_id, request_id)
    return One(
        workflow_id=workflow_id,
        workflow_name=seen.of.workflow_name,
        task_queue=seen.of.task_queue,
        request_id=request_id,
        state=seen.state,
        request=None if seen.request is None else _pending(seen.request),
        settled=None if seen.settled is None else _answer(seen.settled),
        answers=[_answer(one) for one in seen.answers],
    )


@router.post(
    "/runs/{workflow_id}/requests/{request_id}/response",
    response_model=Accepted,
    responses={
        **_UNREADABLE,
        409: {"model": Late, "description": "It is too late: another answer counts, or the request waits no more"},
        422: {"model": Refusal, "description": "The response does not fit; the request still waits"},
        504: {"model": Refusal, "description": "It was sent, and no worker said yet whether it is accepted"},
    },
)
async def respond(request: Request, workflow_id: WorkflowId, request_id: RequestId, given: Given) -> Any:
    """Answer a request, and wait until the answer is accepted and checkpointed."""
    fate = await _runs(request).respond(
        workflow_id,
        wire.Response(
            request_id=request_id,
            response=given.response,
            responder=request.state.person or given.responder,
            comment=given.comment,
        ),
    )
    if fate.kind == "accepted":
        return Accepted(request_id=request_id, checkpoint_id=fate.checkpoint_id)
    if fate.kind == "refused":
        return JSONResponse(Refusal(detail=fate.message).model_dump(), 422)
    settled = None if fate.settled is None else _answer(fate.settled)
    return JSONResponse(Late(detail=fate.message, settled=settled).model_dump(), 409)


@router.get("/runs/{workflow_id}/responses", responses=_UNREADABLE)
async def list_answers(request: Request, workflow_id: WorkflowId) -> list[Answer]:
    """Show the audit trail of a run, oldest first."""
    runs = _runs(request)
    return [_answer(one) for one in await runs.answers(await runs.run(workflow_id))]


@router.get("/runs/{workflow_id}/graph", responses=_UNREADABLE)
async def show_graph(request: Request, workflow_id: WorkflowId) -> dict[str, Any]:
    """Show the graph with where the run stands: the answer of the query `graph`."""
    runs = _runs(request)
    return wire.dump(await runs.graph(await runs.run(workflow_id)))


@router.get(
    "/runs/{workflow_id}/graph.svg",
    response_class=Response,
    responses={200: {"content": {"image/svg+xml": {}}}, **_UNREADABLE},
)
async def draw_graph(request: Request, workflow_id: WorkflowId) -> Response:
    """Draw the graph with where the run stands."""
    runs = _runs(request)
    try:
        drawn = svg(await runs.graph(await runs.run(workflow_id)))
    except NotDrawn as error:
        raise Trouble(404, str(error)) from error
    return Response(drawn, media_type="image/svg+xml")


@router.get(
    "/runs/{workflow_id}/graph.mmd",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **_UNREADABLE},
)
async def write_graph(request: Request, workflow_id: WorkflowId) -> Response:
    """Write the graph with where the run stands as Mermaid text."""
    runs = _runs(request)
    return Response(mermaid(await runs.graph(await runs.run(workflow_id))), media_type="text/plain")


def _runs(request: Request) -> Runs:
    return request.app.state.runs


def _listed(one: OpenRequest) -> Listed:
    return Listed(
        workflow_id=one.workflow_id,
        run_id=one.run_id,
        workflow_name=one.workflow_name,
        task_queue=one.task_queue,
        started_at=one.started_at,
        page=request_path(one.workflow_id, one.request.request_id),
        request=_pending(one.request),
    )


def _pending(one: wire.PendingRequest) -> Pending:
    return Pending.model_validate(wire.dump(one))


def _answer(one: wire.ReadableResponded) -> Answer:
    return Answer.model_validate(wire.dump(one))
