"""What the inbox asks of runs, and tells them: reading by queries, answering by the update `respond`.

Everything is plain JSON, so the inbox needs no code of any workflow. How it looks is the pages and the JSON API's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, TypeVar

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.common import QueryRejectCondition
from temporalio.service import RPCError

from temporal_adapter import wire
from temporal_adapter.client import (
    Accepted,
    DurableRun,
    DurableWorkflow,
    NoWorker,
    ResponseRefused,
    RunNotFound,
    UnknownWorkflow,
)
from temporal_adapter.client.errors import explained
from temporal_adapter.client.links import started_at
from temporal_adapter.client.listing import Listing, open_requests
from temporal_adapter.client.task_queues import pollers
from temporal_adapter.store import BlobStore
from temporal_adapter.values import EncodeError

_MOST_REQUESTS = 500  # in a listing
_LISTING_SECONDS = 2.0  # for which all who look are shown the same
_PATIENCE = 60.0  # seconds that an answer has to be accepted

State: TypeAlias = Literal["pending", "answered", "cancelled", "expired"]
_SETTLED: dict[str, State] = {"accepted": "answered", "cancelled": "cancelled", "expired": "expired"}


AnswerT = TypeVar("AnswerT")


class Trouble(Exception):
    """Something cannot be shown or done; the message says what and why, for people. `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class RunSeen:
    """A run, as Temporal describes it."""

    workflow_id: str
    workflow_name: str
    task_queue: str
    started_at: datetime
    status: str  # Temporal's
    run: DurableRun


@dataclass(frozen=True)
class RequestSeen:
    """A request, with the run that asks.

    Attributes:
        of: The run.
        request_id: The request's.
        request: While it waits; None afterwards.
        answers: The run's audit trail, oldest first.
        settled: What became of the request, if it does not wait any more.
    """

    of: RunSeen
    request_id: str
    request: wire.PendingRequest | None
    answers: list[wire.ReadableResponded]
    settled: wire.ReadableResponded | None

    @property
    def state(self) -> State:
        """Whether it waits, or what became of it."""
        return "pending" if self.settled is None else _SETTLED[self.settled.outcome]


@dataclass(frozen=True)
class Fate:
    """What became of an answer.

    Attributes:
        kind: Accepted; refused, and the request still waits; or `late`: another answer was before it, or it was
            cancelled or expired.
        message: For people.
        checkpoint_id: Where an accepted answer is in flight.
        settled: Of a late answer, what came before it.
    """

    kind: Literal["accepted", "refused", "late"]
    message: str
    checkpoint_id: str | None = None
    settled: wire.ReadableResponded | None = None


class Runs:
    """The runs of a namespace.

    Args:
        client: A Temporal client; it needs no plugin.
        store: The workers' checkpoint store, for what is too large for history; without it only its size is shown.
    """

    def __init__(self, client: Client, store: BlobStore | None = None) -> None:
        self._client = client
        self._store = store
        self._listings: dict[tuple[str | None, timedelta | None], tuple[float, asyncio.Future[Listing]]] = {}

    async def listing(self, workflow_name: str | None = None, older_than: timedelta | None = None) -> Listing:
        """Return the open requests of all runs, the newest first.

        Raises:
            Trouble: The server does not answer.
        """
        key, now = (workflow_name, older_than), time.monotonic()
        self._listings = {one: found for one, found in self._listings.items() if now - found[0] < _LISTING_SECONDS}
        if key not in self._listings:
            asked = open_requests(
                self._client, workflow_name=workflow_name, older_than=older_than, limit=_MOST_REQUESTS
            )
            self._listings[key] = now, asyncio.ensure_future(asked)
        try:
            return await asyncio.shield(self._listings[key][1])
        except RPCError as error:
            self._listings.pop(key, None)
            raise Trouble(502, f"The Temporal server could not list runs: {error.message}") from error

    async def run(self, workflow_id: str) -> RunSeen:
        """Return the last run of a workflow id.

        Raises:
            Trouble: There is none, or the server does not answer.
        """
        handle = self._client.get_workflow_handle(workflow_id)
        try:
            with explained(workflow_id, "", None):
                found = await handle.describe()
                began = await started_at(self._client, found)
        except RunNotFound:
            raise Trouble(
                404, f"There is no run with workflow id {workflow_id!r}, or it is past its retention."
            ) from None
        except (RPCError, NoWorker) as error:
            raise Trouble(502, f"The Temporal server did not describe the run: {error}") from error
        workflow = DurableWorkflow(
            self._client, found.workflow_type, task_queue=found.task_queue, checkpoint_store=self._store
        )
        status = "UNKNOWN" if found.status is None else found.status.name
        run = workflow.get_run(workflow_id)
        return RunSeen(workflow_id, found.workflow_type, found.task_queue, began, status, run)

    async def graph(self, of: RunSeen) -> wire.GraphProgress:
        """Return where a run stands in its graph.

        Raises:
            Trouble: It cannot be asked.
        """
        return await self._asked(of, of.run.graph)

    async def answers(self, of: RunSeen) -> list[wire.ReadableResponded]:
        """Return the audit trail of a run, oldest first.

        Raises:
            Trouble: It cannot be asked.
        """
        return await self._asked(of, lambda: _answers(of.run))

    async def request(self, workflow_id: str, request_id: str) -> RequestSeen:
        """Return a request, whether it waits or not.

        Raises:
            Trouble: There is no such run or request, or the run cannot be asked.
        """
        of = await self.run(workflow_id)
        pending = await self._asked(of, of.run.open_requests)
        answers = await self.answers(of)
        request = next((one for one in pending if one.request_id == request_id), None)
        settled = [one for one in answers if one.request_id == request_id and one.outcome in _SETTLED]
        if request is None and not settled:
            raise Trouble(404, f"Run {workflow_id!r} has no request {request_id!r}, or it is of an earlier run.")
        return RequestSeen(of, request_id, request, answers, settled[-1] if request is None else None)

    async def respond(self, workflow_id: str, response: wire.Response) -> Fate:
        """Answer a request; one of several who answer it wins.

        Raises:
            Trouble: There is no such run or request, or nobody answered for it.
        """
        of = await self.run(workflow_id)
        self._listings.clear()
        try:
            accepted = await self._asked(of, lambda: _sent(of.run, response))
        except asyncio.TimeoutError:
            raise Trouble(
                504,
                "The answer is with the run, but no worker has said yet whether it is accepted. Look again later; to "
                "send the same answer again does no harm.",
            ) from None
        except EncodeError as error:
            return Fate("refused", f"The answer cannot be sent: {error}")
        except ResponseRefused as error:
            seen = await self.request(workflow_id, response.request_id)
            if seen.settled is None:
                return Fate("refused", str(error))
            return too_late(seen.settled, response.responder, response.comment)
        finally:
            self._listings.clear()
        # The same answer from two people is one answer, and the update accepts it from both: the trail has whose it is.
        settled = (await self.request(workflow_id, response.request_id)).settled
        if settled is not None and not _is_of(settled, response.responder, response.comment):
            return Fate("late", f"The same answer was given before yours. {told(settled)}", settled=settled)
        return Fate("accepted", "Your answer was accepted.", accepted.checkpoint_id, settled)

    async def _asked(self, of: RunSeen, ask: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Wait for the answer of a run, if there is anybody who can give it."""
        try:
            if not await pollers(self._client, of.task_queue):
                raise Trouble(
                    503,
                    f"No worker serves task queue {of.task_queue!r}, so nobody can say how run {of.workflow_id!r} "
                    "stands, nor take an answer. The run is safe with Temporal; it goes on when a worker is back.",
                )
            return await ask()
        except (NoWorker, UnknownWorkflow) as error:
            raise Trouble(503, str(error)) from error
        except RunNotFound as error:
            raise Trouble(404, str(error)) from error
        except (WorkflowQueryFailedError, wire.WireError) as error:
            raise Trouble(404, f"Run {of.workflow_id!r} cannot be asked; is it one of this adapter? {error}") from error
        except RPCError as error:
            raise Trouble(502, f"The Temporal server refused: {error.message}") from error


def told(settled: wire.ReadableResponded) -> str:
    """Return in one sentence what became of a request."""
    who = settled.responder or ("Somebody" if settled.source == "person" else "A replay")
    at = "" if settled.at is None else f" at {settled.at[:19].replace('T', ' ')} UTC"
    if settled.source == "deadline":
        return f"The deadline of the request passed{at}."
    if settled.outcome == "expired":
        return f"The request expired{at}."
    if settled.outcome == "cancelled":
        return f"{who} cancelled the request{at}."
    return f"{who} answered{at}."


def too_late(settled: wire.ReadableResponded, responder: str | None, comment: str | None) -> Fate:
    """Return the fate of somebody's answer to a request that waits no more."""
    # The same person with the same comment has sent it twice, or from two windows.
    reason = "It is answered already." if _is_of(settled, responder, comment) else "Your answer came too late."
    return Fate("late", f"{reason} {told(settled)}", settled=settled)


def _is_of(settled: wire.ReadableResponded, responder: str | None, comment: str | None) -> bool:
    return (settled.responder, settled.comment) == (responder, comment)


async def _sent(run: DurableRun, response: wire.Response) -> Accepted:
    sent = run.respond(response.request_id, response.response, responder=response.responder, comment=response.comment)
    return await asyncio.wait_for(sent, _PATIENCE)


async def _answers(run: DurableRun) -> list[wire.ReadableResponded]:
    found: list[wire.ReadableResponded] = []
    with run.explained():
        while page := await run.unless_stuck(
            run.handle.query("responses", len(found), reject_condition=QueryRejectCondition.NONE)
        ):
            found += [wire.load(wire.ReadableResponded, one) for one in page]
    return found
