"""Requests that are cancelled, from the asking until their executors are told: MAF's `cancel_pending_requests`.

A cancellation is taken whole or not at all, and counts at once: from then on none of its requests can be answered. The
executors are told when the superstep under way is over. Which deliveries that makes is the engine's to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from temporal_adapter import wire

from .audit import Audit
from .decisions import Answer, Fate
from .facts import CancelRequested
from .inbox import Inbox
from .journal import Journal
from .level import Level
from .recorder import Recorder, Stamp

_FAILED = "an executor failed when it was told of the cancellation, and the request waits again."


class Cancellations:
    """What is to be cancelled, what was, and what executors are told of now."""

    def __init__(self, recorder: Recorder, journal: Journal, inbox: Inbox, audit: Audit) -> None:
        self._recorder = recorder
        self._journal = journal
        self._inbox = inbox
        self._audit = audit
        self._waiting: list[CancelRequested] = []
        self._accepted: dict[str, wire.Responded] = {}  # by request id
        self._told: dict[str, wire.Responded] = {}  # what executors are told of now
        self._stamp: Stamp | None = None  # of the checkpoint that follows
        self._answers: list[Answer] = []

    def receive(self, asked: CancelRequested) -> None:
        """Take a cancellation."""
        self._waiting.append(asked)

    @property
    def busy(self) -> bool:
        """Whether one is not decided, or an executor is to be told of one."""
        return bool(self._waiting or self._accepted or self._told or self._answers)

    def take(self, requests: Mapping[str, wire.Request]) -> None:
        """Accept or refuse what has come, given the pending requests; what a response may yet answer waits for that."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            request_ids = self._with_companions(one.asked.request_ids, requests)
            if self._inbox.may_be_answered(request_ids, before=one.ticket or None):
                self._waiting.append(one)
                continue
            reasons = {request_id: self._inbox.why_not_pending(request_id, requests) for request_id in request_ids}
            refused = {request_id: reason for request_id, reason in reasons.items() if reason is not None}
            if refused:
                self._refuse(one, refused, requests)
            else:
                self._accept(one, request_ids, requests)

    def _with_companions(self, request_ids: Iterable[str], requests: Mapping[str, wire.Request]) -> list[str]:
        """Return the requests to cancel, each once, with those that MAF cancels along.

        A computer call goes with all that its executor waits for (`Workflow.cancel_pending_requests`).
        """
        wanted = list(dict.fromkeys(request_ids))
        known = [requests[request_id] for request_id in wanted if request_id in requests]
        together = [request.source_executor_id for request in known if request.cancelled_together]
        companions = [
            request_id
            for request_id, request in requests.items()
            if request.source_executor_id in together and self._inbox.is_open(request_id)
        ]
        return list(dict.fromkeys([*wanted, *companions]))

    def _accept(self, one: CancelRequested, request_ids: Collection[str], requests: Mapping[str, wire.Request]) -> None:
        stamp = self._recorder.mint()
        for request_id in request_ids:
            record = wire.Responded(
                request_id=request_id,
                outcome="cancelled",
                executor_id=requests[request_id].source_executor_id,
                source=one.source,
                responder=one.asked.responder,
                comment=one.asked.comment,
            )
            self._withdraw(record, stamp)
        self._answers.append(Answer(one.ticket, tuple(Fate(request_id) for request_id in request_ids)))

    def _withdraw(self, record: wire.Responded, stamp: Stamp) -> None:
        self._stamp = self._stamp or stamp
        record = wire.replace(record, at=stamp.timestamp, checkpoint_id=self._stamp.id)
        self._accepted[record.request_id] = record
        self._audit.add(record)
        self._inbox.withdraw([record.request_id], f"request {record.request_id!r} was cancelled.")

    def _refuse(self, one: CancelRequested, reasons: Mapping[str, str], requests: Mapping[str, wire.Request]) -> None:
        self._answers.append(Answer(one.ticket, tuple(Fate(key, refused=reason) for key, reason in reasons.items())))
        if one.source == "deadline":
            return  # a response was faster
        at = self._recorder.mint().timestamp
        for request_id, reason in reasons.items():
            request = requests.get(request_id)
            self._journal.warn(f"The cancellation of request {request_id!r} was refused: {reason}")
            self._audit.add(
                wire.Responded(
                    request_id=request_id,
                    outcome="refused",
                    executor_id=None if request is None else request.source_executor_id,
                    responder=one.asked.responder,
                    comment=one.asked.comment,
                    at=at,
                    reason=f"It was to be cancelled: {reason}",
                )
            )

    def refuse_all(self, reason: str) -> None:
        """The run ends: nothing more is cancelled, and no executor is told of what was."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            fates = (Fate(request_id, refused=reason) for request_id in dict.fromkeys(one.asked.request_ids))
            self._answers.append(Answer(one.ticket, tuple(fates)))
        self._accepted, self._stamp = {}, None

    def take_answers(self) -> list[Answer]:
        """Return the answers complete by now, each once."""
        answers, self._answers = self._answers, []
        return answers

    def repeat(self, request: wire.Request) -> None:
        """The run that is repeated was asked to cancel this request."""
        record = wire.Responded(
            request_id=request.request_id,
            outcome="cancelled",
            executor_id=request.source_executor_id,
            source="replay",
        )
        self._withdraw(record, self._recorder.mint())

    # --- telling executors ----------------------------------------------------------------------------------

    def due(self, root: Level) -> bool:
        """Whether executors are to be told. A request that went with the superstep that had made it is forgotten."""
        self._accepted = {key: record for key, record in self._accepted.items() if key in root.requests}
        self._stamp = self._stamp if self._accepted else None
        return bool(self._accepted)

    def begin(self, root: Level) -> list[str]:
        """Promise the checkpoint that follows; return the requests, in the order in which they were made."""
        told = [self._accepted[request_id] for request_id in root.requests if request_id in self._accepted]
        self._recorder.promise("response", root.iteration, self._stamp, wire.response_metadata(told))
        self._told, self._accepted, self._stamp = {one.request_id: one for one in told}, {}, None
        return list(self._told)

    def end(self) -> None:
        """The executors have been told."""
        self._told = {}

    def fail(self) -> None:
        """An executor failed when it was told: the cancellation has never been, and its requests wait again."""
        for request_id, record in self._told.items():
            self._inbox.ask_again(request_id)
            self._audit.add(wire.replace(record, outcome="refused", checkpoint_id=None, reason=_FAILED))
        self._told = {}
