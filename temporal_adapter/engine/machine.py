"""The engine: takes a fact, changes state, answers with decisions. See the package for the theory of operation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from temporal_adapter import wire

from .decisions import Decision
from .facts import (
    CancelRequested,
    Committed,
    DeliveryFailed,
    DeliveryFinished,
    Fact,
    InputRefused,
    InputStranded,
    JudgementFailed,
    JudgementStranded,
    Notified,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
    Stranded,
    TimeReached,
    WentOn,
)
from .leaving import LeavingRun
from .progress import progress
from .run import Phase


class SessionRefused(Exception):
    """A session is asked for what it cannot do now; the message says why."""


class Engine(LeavingRun):
    """One run of one MAF workflow."""

    # --- what the owner calls -------------------------------------------------------------------------------

    def observe(self, told: Callable[[wire.CheckpointRecord], None]) -> None:
        """Tell of each checkpoint as it is recorded, also of those that an activity has written of its own outcome."""
        self._recorder.observe = told

    def start(self, message: Any, options: wire.StartOptions) -> wire.SeedInput:
        """Begin the run; the answer to the returned input is `Seeded`, or `abort`."""
        self.journal.begin()
        self._options = options
        self._restoring = options.restore is not None
        return wire.SeedInput(message=message, options=options, header=self._promised_by(options))

    def open_session(self, options: wire.StartOptions) -> None:
        """Begin a session that has no input yet."""
        self._options = options
        self.phase = Phase.IDLE

    def input(self, message: Any, options: wire.StartOptions) -> wire.SeedInput:
        """Give a session an input, or a checkpoint to go on from; answered by `Seeded`, or `InputRefused`.

        Raises:
            SessionRefused: It is at work, or no session.
        """
        self.check_at_rest()
        self._rest_phase, self.phase = self.phase, Phase.SEEDING
        self._restoring = options.restore is not None
        if self._root.requests and options.restore is None:
            waiting = ", ".join(map(repr, self._root.requests))
            self.journal.warn(f"An input came while requests wait for a response: {waiting}. They go on waiting.")
        self.journal.begin()
        own = self._options  # hold for all inputs
        options = wire.replace(options, session=own.session, stream=own.stream, on_failure=own.on_failure)
        further = self._seeded and options.restore is None
        mirrored = further and not self.lineage.unmirrored
        return wire.SeedInput(
            message=message,
            options=options,
            header=self._promised_by(options),
            further=further,
            graph=self._root.graph.signature if self._seeded else None,
            snapshot=self._recorder.snapshot() if mirrored else None,
        )

    def _promised_by(self, options: wire.StartOptions) -> wire.CheckpointHeader | None:
        """Return the header of the checkpoint that seeding makes. A run that is merely restored makes none."""
        restore = options.restore
        if restore is None:
            return self._recorder.promise("entry", 0)
        if restore.verb == "fork":
            return self._recorder.promise_after(restore.checkpoint_id, "fork", _of_fork(restore))
        if restore.responses:
            return self._recorder.promise_after(restore.checkpoint_id, "response")
        return None

    def reset(self) -> list[Decision]:
        """Put a session back to what it was before its first input: pristine, at every level, and with a new lineage.

        Raises:
            SessionRefused: It is at work, or no session.
        """
        self.check_at_rest()
        self._responses.inbox.withdraw(self._root.requests, "the session was reset since the request was made.")
        self._mark_ended("reset")
        self._recorder.begin_anew()
        self._build(self._root.graph)
        self._seeded = False
        self.phase = Phase.IDLE
        self.journal.status("IDLE")
        return self._decide()

    def close(self) -> list[Decision]:
        """End a session.

        Raises:
            SessionRefused: It is at work, or no session.
        """
        self.check_at_rest()
        self._responses.refuse_all("the session was closed.")
        self.phase = Phase.ENDING
        self._mark_ended("closed")
        return self._decide()

    def abort(self, failure: wire.Failure) -> None:
        """The run could not be seeded."""
        self.journal.fail(failure.details)
        self.phase = Phase.ENDED
        self._responses.refuse_all("the run failed.")

    def cancel(self) -> list[Decision]:
        """The run was cancelled from outside; it is over when the decisions, if any, are carried out."""
        self.journal.status("CANCELLED")
        self._stop("the run was cancelled.", "cancelled")
        if not self.graph_known:  # there is none to commit for, and nothing but the input to lose
            self._commits.nothing_to_tell()
        self._cancelled = True
        return self._decide()

    def retry(self, executors: Sequence[str]) -> list[Decision]:
        """An operator wants failed executors run again, named by their paths."""
        for position in self._dispatch.take_failed(executors):
            self._deliver(position)
        return self._decide()

    def receive(self, fact: Fact) -> list[Decision]:
        """Take a fact, return the decisions that follow from it."""
        match fact:
            case Seeded(result):
                self._on_seeded(result)
            case InputRefused(failure):
                self._on_input_refused(failure)
            case DeliveryFinished(index, result):
                self._may_hold = True
                self._on_delivery_finished(index, result)
                self._may_hold = False
            case DeliveryFailed(index, failure):
                self._on_delivery_failed(index, failure)
            case ResponsesReceived(ticket, responses, whole, source, state):
                self._responses.receive(ticket, responses, whole=whole, source=source, state=state)
            case ResponsesJudged(result):
                self._on_responses_judged(result)
            case CancelRequested(ticket, asked, source):
                self._cancel_requests(ticket, asked, source=source)
            case Committed(outcome, stowed):
                self._on_committed(outcome, stowed)
            case TimeReached(at):
                self._on_time_reached(at)
            case Notified(request, at):
                self._on_notified(request, at)
            case WentOn():
                self._on_went_on(fact)
            case Stranded(index):
                self._on_stranded(index)
            case JudgementStranded():
                self._on_judgement_stranded()
            case JudgementFailed(failure):
                self._on_judgement_failed(failure)
            case InputStranded():
                self._on_input_stranded()
        self._cancel_asked()
        if self.held:
            self._while_held()
        self._judge()
        if self.held:  # a cancellation may wait for a response that needed no judgement, and no other fact need follow
            self._cancel_asked()
            self._while_held()
        return self._decide()

    def _decide(self) -> list[Decision]:
        self._mirror()
        self._conclude()
        decisions, self._decisions = [*self._responses.take_answers(), *self._decisions], []
        return decisions

    @property
    def is_session(self) -> bool:
        """Whether the run is kept open for many inputs."""
        return self._options.session

    @property
    def graph(self) -> wire.Graph:
        """The graph that the run was started with, or migrated to, once it is known."""
        return self._root.graph

    @property
    def graph_signature(self) -> str:
        """Of the graph that the run was started with, once it is known."""
        return self._root.graph.signature

    def pending_requests(self) -> list[wire.Request]:
        """Return the requests that wait for a response, in order of first sight; none once the run is ending."""
        if self.phase in (Phase.ENDING, Phase.ENDED):
            return []
        is_open = self._responses.inbox.is_open
        return [request for key, request in self._root.requests.items() if is_open(key)]

    def progress(self) -> wire.GraphProgress:
        """Return the graph, with where the run stands in it."""
        return progress(self._root, self._dispatch, self._waits)

    def reminders(self, request_id: str) -> int:
        """Return how many reminders of a request were sent."""
        return self._deadlines.reminders(request_id)

    @property
    def answered(self) -> list[wire.Responded]:
        """The audit trail: what became of every response, in order, without what the blob store has of it."""
        return self._responses.audit.records

    def check_pending(self, request_ids: Collection[str]) -> str | None:
        """Return why not all of these requests wait for a response, or None."""
        inbox, requests = self._responses.inbox, self._root.requests
        reasons = (inbox.why_not_pending(one, requests) for one in request_ids)
        return next((reason for reason in reasons if reason is not None), None)

    def status(self) -> wire.RunStatus:
        """Return the run's status."""
        return wire.RunStatus(
            state=self.journal.state,
            iteration=self._root.iteration,
            pending_requests=len(self.pending_requests()),
            checkpoint_id=self.lineage.head,
            events=self.journal.length,
            unmirrored_checkpoints=self.lineage.unmirrored,
            mirror_error=self.lineage.mirror_error,
            failed_executors=list(self._dispatch.failed()),
            restored=wire.without_gifts(self._options.restore),
        )

    def check_at_rest(self) -> None:
        """See that a session is at rest.

        Raises:
            SessionRefused: It is at work, or no session.
        """
        if not self._options.session:
            raise SessionRefused("The run is no session, which takes one input only: start another run for another.")
        if self.phase in (Phase.ENDING, Phase.ENDED):
            raise SessionRefused("The session has ended.")
        if self.phase in (Phase.SEEDING, Phase.RUNNING):
            raise SessionRefused("The session is running: wait until it is idle, or waits for responses.")
        if self._responses.under_judgement:
            raise SessionRefused("The session is taking a response in: wait until it is idle, or waits for responses.")


def _of_fork(restore: wire.Restore) -> dict[str, Any]:
    """Return what the metadata of a fork's first checkpoint says of it."""
    told = {
        "forked_from": restore.checkpoint_id,
        "responses": list(restore.responses),
        "state": [*restore.state, *restore.deleted_state],
        "reason": restore.reason,
    }
    return {key: value for key, value in told.items() if value}
