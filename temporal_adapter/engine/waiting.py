"""What happens to requests of a run that nobody answers: reminders, and expiry."""

from __future__ import annotations

from temporal_adapter import wire
from temporal_adapter.wire.names import REQUEST_EXPIRED

from .deadlines import Due, expires_at
from .decisions import Notify
from .run import Phase, Run

_OVER = (Phase.ENDING, Phase.ENDED)


class WaitingRun(Run):
    """A run that keeps the deadlines of its requests."""

    def next_due(self) -> str | None:
        """Return when something is to be done about a request next (ISO 8601, UTC), to be told by `TimeReached`."""
        if self.phase in (*_OVER, Phase.SEEDING):  # of a session: what is seeded may restore other requests
            return None
        if not self.entered:
            return None
        return self._deadlines.next_at()

    def _on_time_reached(self, at: str) -> None:
        if self.phase is Phase.SEEDING or not self.entered:
            return  # it is due still when that is over
        for due in self._deadlines.take(at):
            if self.phase in _OVER:
                return
            if due.what == "remind":
                self._remind(due)
            else:
                self._expire(due)

    def _remind(self, due: Due) -> None:
        request = due.request
        number = self._deadlines.number_of(request.request_id)
        signature = self._root.graph.signature
        given = wire.NotifyInput(graph=signature, request=request, number=number, expires_at=expires_at(request))
        self._decisions.append(Notify(given, due.at.isoformat(timespec="microseconds")))

    def _on_notified(self, request: wire.Request, at: str) -> None:
        if self._waits(request):
            self._deadlines.reminded(request, at)

    def _expire(self, due: Due) -> None:
        request, deadline = due.request, due.request.deadline
        assert deadline is not None
        if deadline.on_expiry == "default":
            response = wire.Response(request_id=request.request_id, response=deadline.default)
            self._responses.receive(0, (response,), source="deadline")
            return
        if deadline.on_expiry == "cancel":
            self._cancel_requests(0, wire.CancelRequests(request_ids=[request.request_id]), source="deadline")
            return
        self._responses.audit.add(
            wire.Responded(
                request_id=request.request_id,
                outcome="expired",
                executor_id=request.source_executor_id,
                source="deadline",
                at=expires_at(request),
            )
        )
        self._fail_of_expiry(request)

    def _on_responses_judged(self, result: wire.RespondResult) -> None:
        defaults = [one.response.request_id for one in self._responses.inbox.judging if one.source == "deadline"]
        super()._on_responses_judged(result)
        for judgement in result.judgements:
            request = self._root.requests.get(judgement.request_id)
            if judgement.request_id not in defaults or judgement.refused is None or request is None:
                continue
            if self.phase not in _OVER and self._waits(request):
                self._fail_of_expiry(request, f" The default of its deadline is refused: {judgement.refused}")

    def _fail_of_expiry(self, request: wire.Request, why: str = "") -> None:
        message = (
            f"Request {request.request_id!r} of executor {request.source_executor_id!r} had no response until it "
            f"expired at {expires_at(request)}.{why}"
        )
        shown = message if self._root.graph.shows_error_messages else REQUEST_EXPIRED
        details = wire.ErrorDetails(error_type=REQUEST_EXPIRED, message=shown, executor_id=request.source_executor_id)
        self._responses.inbox.withdraw([request.request_id], f"request {request.request_id!r} has expired.")
        if self._options.session:  # which goes on, without the request
            self._root.answered(request.request_id)
        self._fail(wire.Failure(error_type=REQUEST_EXPIRED, message=message, details=details))
