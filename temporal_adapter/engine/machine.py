"""The engine: takes a fact, changes state, answers with decisions. See the package for the theory of operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

from .decisions import Commit, Decision, Fail, Fate, Finish, Judge
from .dispatch import Dispatch, Position
from .facts import (
    Committed,
    DeliveryFailed,
    DeliveryFinished,
    Fact,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
)
from .inbox import Inbox
from .journal import Journal
from .level import Caller, Level
from .lineage import Lineage
from .recorder import Recorder, Stamp
from .superstep import Superstep, events_of, invoked

_NOT_SEEDED = wire.Graph(name="", signature="", start_executor_id="", executors=[], max_iterations=0)


class Phase(Enum):
    """Where a run stands."""

    SEEDING = "seeding"
    RUNNING = "running"
    PAUSED = "paused"
    ENDING = "ending"
    ENDED = "ended"


class Engine:
    """One run of one MAF workflow."""

    def __init__(self, mint: Callable[[], Stamp]) -> None:
        self._decisions: list[Decision] = []
        self.phase = Phase.SEEDING
        self.journal = Journal()
        self._recorder = Recorder(mint, self.journal)
        self._inbox = Inbox()
        self._root = Level(_NOT_SEEDED, self._recorder.put)
        self._dispatch = Dispatch(self._recorder)
        self._waits_for_operator = False  # when an executor fails, instead of failing the run
        self._accepted: list[wire.RoutedMessage] = []  # responses that wait for the superstep to end
        self._response_stamp: Stamp | None = None  # of the response-entry checkpoint for them
        self._failure: wire.Failure | None = None  # of a run that is ending badly
        self._cancelled = False
        self._discard: list[str] = []  # checkpoints that an abandoned activity may write
        self._held: list[Level] = []  # levels whose superstep waits for a commit, to build on what that writes
        self._committing, self._discarding = False, 0  # and how many of the discarded a commit has with it
        self._stowing: list[str] = []  # the sub-workflows whose entries it has; "" where the run was abandoned since

    # --- what the owner calls -------------------------------------------------------------------------------

    def start(self, message: Any, options: wire.StartOptions) -> wire.SeedInput:
        """Begin the run; the answer to the returned input is `Seeded`, or `abort`."""
        self.journal.begin()
        return wire.SeedInput(message=message, options=options, header=self._recorder.promise("entry", 0))

    def abort(self, failure: wire.Failure) -> None:
        """The run could not be seeded."""
        self.journal.fail(failure.details)
        self.phase = Phase.ENDED
        self._inbox.refuse_all("the run failed.")

    def cancel(self) -> list[Decision]:
        """The run was cancelled from outside; it is over when the decisions, if any, are carried out."""
        self.journal.status("CANCELLED")
        seeded = self.phase is not Phase.SEEDING
        self._stop("the run was cancelled.")
        if not seeded:  # there is no graph to commit for, and nothing but the input to lose
            self._discard = []
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
            case DeliveryFinished(index, result):
                self._on_delivery_finished(index, result)
            case DeliveryFailed(index, failure):
                self._on_delivery_failed(index, failure)
            case ResponsesReceived(ticket, responses):
                self._inbox.add(ticket, responses)
            case ResponsesJudged(result):
                self._on_responses_judged(result)
            case Committed(outcome, stowed):
                self._on_committed(outcome, stowed)
        self._judge()
        return self._decide()

    def _decide(self) -> list[Decision]:
        self._mirror()
        self._conclude()
        decisions, self._decisions = [*self._inbox.take_answers(), *self._decisions], []
        return decisions

    @property
    def lineage(self) -> Lineage:
        """The checkpoints recorded so far."""
        return self._recorder.lineage

    def pending_requests(self) -> list[wire.Request]:
        """Return the requests that wait for a response, in order of first sight; none once the run is ending."""
        if self.phase in (Phase.ENDING, Phase.ENDED):
            return []
        return [request for key, request in self._root.requests.items() if not self._inbox.is_answered(key)]

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
        )

    # --- facts ----------------------------------------------------------------------------------------------

    def _on_seeded(self, result: wire.SeedResult) -> None:
        self._root = root = Level(result.graph, self._recorder.put)
        root.add_children(lambda place, value: self._dispatch.aside.put(place, value))
        self._waits_for_operator = result.waits_for_operator
        for key, value in result.state.items():
            root.put("state", key, value)
        for path, changes in {"": wire.Changes(executors={**result.executors}), **result.children}.items():
            for executor_id, value in changes.executors.items():
                self._recorder.put((path, "executors", executor_id), value)
        root.messages = [result.message]
        self.phase = Phase.RUNNING
        self._recorder.record(self._recorder.take("entry", 0), root.messages, result.commit)
        self._begin_superstep(root)

    def _on_delivery_finished(self, index: int, result: wire.DeliveryResult) -> None:
        found = self._dispatch.ended(index)
        if found is None:
            return  # a sibling failed: this superstep leaves nothing
        level, position = found
        superstep = level.under_way
        if result.call is None:
            for event in events_of(superstep.deliveries[position], result):
                self._show(level, event)
        self._dispatch.settle(index, result.records)
        if result.call is not None:
            child = level.children[superstep.deliveries[position].executor_id]
            child.call(Caller(level, position), result.call)
            self._begin_superstep(child)
            return
        following = superstep.finish(position, result)
        if following is not None:
            self._deliver((level, following))
        if superstep.finished:
            self._end_superstep(level)

    def _show(self, level: Level, event: wire.Event) -> None:
        level.show(event)
        if level is self._root:
            if event.request is not None:
                self._inbox.ask_again(event.request.request_id)
            self.journal.emit(event)

    def _on_delivery_failed(self, index: int, failure: wire.Failure) -> None:
        position = self._dispatch.ended(index)
        if position is None:
            return
        if not self._waits_for_operator:
            self._executor_failed(position, failure)
            return
        self._dispatch.settle(index, None)
        executor = self._dispatch.keep_failed(position, failure)
        self.journal.warn(
            f"Executor {executor!r} failed, and the run waits for an operator's `retry`: "
            f"{failure.error_type}: {failure.details.message}"
        )

    def _on_responses_judged(self, result: wire.RespondResult) -> None:
        if self.phase not in (Phase.RUNNING, Phase.PAUSED):
            return  # refused already, when the run failed
        stamp = self._response_stamp = self._response_stamp or self._recorder.mint()
        judged, self._inbox.judging = self._inbox.judging, []
        for queued, judgement in zip(judged, result.judgements, strict=True):
            if judgement.message is not None:
                self._accepted.append(judgement.message)
                self._inbox.accept(queued, stamp.id)
            else:
                self._inbox.settle(queued, Fate(queued.response.request_id, refused=judgement.refused or "refused"))
        self._show_refusals()
        if self.phase is Phase.PAUSED and self._accepted:
            self.phase = Phase.RUNNING
            self.journal.begin()
            self._enter_responses(result.commit)
            self._begin_superstep(self._root)
        elif not self._accepted:
            self._response_stamp = None
            if self.phase is Phase.PAUSED:
                self._recorder.withdraw()

    def _on_committed(self, outcome: wire.CommitOutcome, stowed: tuple[wire.Value, ...]) -> None:
        self._discard = self._discard[self._discarding :]
        stowing, self._stowing = self._stowing, []
        self._committing, self._discarding = False, 0
        self._recorder.settle(outcome)
        if self._held:  # else the superstep was abandoned meanwhile
            for path, value in zip(stowing, stowed, strict=True):
                if path:
                    self._dispatch.aside.stowed(path, value)
        held, self._held = self._held, []
        for level in held:
            self._run_superstep(level)

    # --- supersteps -----------------------------------------------------------------------------------------

    def _begin_superstep(self, level: Level) -> None:
        if not level.messages:
            self._rest(level)
            return
        failure = level.beyond_limit()
        if failure is not None:
            self._workflow_failed(level, failure)
            return
        if level is self._root:
            self.journal.superstep("superstep_started", level.iteration + 1)
        superstep = level.open_superstep(self._key(level))
        if not isinstance(superstep, Superstep):
            self._workflow_failed(level, superstep)
            return
        self._run_superstep(level)

    def _run_superstep(self, level: Level) -> None:
        superstep = level.under_way
        if not self._dispatch.may_begin(level, superstep):
            self._held.append(level)
            return
        for position in superstep.first():
            self._deliver((level, position))
        if superstep.finished:
            self._end_superstep(level)

    def _key(self, level: Level) -> str:
        """Return the key of a level's next superstep, which a resume from the same checkpoint gives again."""
        if level.caller is None:
            return self.lineage.head or ""
        superstep, position = level.caller.level.under_way, level.caller.position
        return f"{superstep.key_of(position)}/{len(superstep.nested[position].runs)}.{level.iteration + 1}"

    def _deliver(self, position: Position) -> None:
        self._decisions.append(self._dispatch.deliver(*position, root=self._root))

    def _end_superstep(self, level: Level) -> None:
        superstep = level.under_way
        events, conflicts = level.close_superstep(superstep)
        for conflict in conflicts:
            self.journal.warn(str(conflict))
        if level is not self._root:
            self._begin_superstep(level)
            return
        self.journal.merge(events)
        for place, value in self._dispatch.aside.drain():
            self._recorder.put(place, value)
        committed = superstep.last_result.own if superstep.deliveries else None
        self._recorder.record(self._recorder.take("superstep", level.iteration), level.messages, committed)
        self.journal.superstep("superstep_completed", level.iteration)
        if self._accepted:
            self._enter_responses(None)
        self._begin_superstep(level)

    def _rest(self, level: Level) -> None:
        """No message is in flight: a sub-workflow's caller goes on; the run pauses while requests are pending."""
        if level.caller is not None:
            self._return_to(level.caller, level)
        elif level.requests:
            self.phase = Phase.PAUSED
            self.journal.status("IDLE_WITH_PENDING_REQUESTS")
        else:
            self.phase = Phase.ENDING
            for one in level.with_children():
                for warning in one.unfilled_fan_ins():
                    self.journal.warn(warning)
            self.journal.status("IDLE")

    def _return_to(self, caller: Caller, level: Level, failure: wire.Failure | None = None) -> None:
        """A sub-workflow's run is over: deliver anew to the executor that called for it."""
        nested = caller.level.under_way.nested
        run = wire.ChildRun(events=level.shown, failure=failure)
        nested[caller.position] = wire.replace(nested[caller.position], runs=[*nested[caller.position].runs, run])
        level.caller, level.shown = None, []
        self._deliver((caller.level, caller.position))

    def _executor_failed(self, position: Position, failure: wire.Failure) -> None:
        level, place = position
        if level is self._root:
            delivery = level.under_way.deliveries[place]
            self.journal.emit(invoked(delivery))
            details = failure.details
            self.journal.emit(wire.Event(type="executor_failed", executor_id=delivery.executor_id, details=details))
        self._workflow_failed(level, failure)

    def _workflow_failed(self, level: Level, failure: wire.Failure) -> None:
        """A workflow has failed; a sub-workflow's error is that of the executor around it, unless that handles it."""
        caller = level.caller
        if caller is None:
            self._fail(failure)
        elif caller.executor_id in caller.level.graph.catching:
            self._dispatch.abandon_level(level)
            inside = list(level.with_children())
            self._held = [one for one in self._held if one not in inside]
            abandoned = [path_text(one.path) for one in inside]
            self._stowing = ["" if path in abandoned else path for path in self._stowing]
            level.abandon()
            self._return_to(caller, level, failure)
        else:
            self._executor_failed((caller.level, caller.position), failure)

    def _fail(self, failure: wire.Failure) -> None:
        self.journal.fail(failure.details)
        self._failure = failure
        self._stop("the run failed.")

    def _stop(self, reason: str) -> None:
        """Leave the superstep under way, if any, without its outcome."""
        self.phase = Phase.ENDING
        withdrawn = self._recorder.withdraw()
        if withdrawn is not None:
            self._discard.append(withdrawn)
        self._dispatch.abandon()
        self._held = []
        if self._root.superstep is not None and self._accepted:
            self._keep_responses()
        self._inbox.refuse_all(reason)

    def _keep_responses(self) -> None:
        """Record the responses that were accepted while the abandoned superstep ran, on what it found.

        Their senders were promised a checkpoint; a resume from it has the superstep and the responses before it. A
        response to a request that this superstep made goes with the request.
        """
        self._root.undo_superstep()
        self._accepted = [routed for routed in self._accepted if _request_id(routed) in self._root.requests]
        if self._accepted:
            self._enter_responses(None)

    # --- responses ------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        if self.phase in (Phase.ENDING, Phase.ENDED):
            self._inbox.refuse_all("the run has ended.")
            return
        batch = self._inbox.next_batch(self._root.requests)
        self._show_refusals()
        if not batch:
            return
        at_rest = self.phase is Phase.PAUSED and not self.lineage.unmirrored
        header: wire.CheckpointHeader | None = None
        if at_rest:
            self._response_stamp = self._recorder.mint()
            header = self._recorder.promise("response", self._root.iteration, self._response_stamp)
        self._decisions.append(
            Judge(
                wire.RespondInput(
                    graph=self._root.graph.signature,
                    requests=[self._root.requests[queued.response.request_id] for queued in batch],
                    responses=[queued.response for queued in batch],
                    header=header,
                    snapshot=self._recorder.snapshot() if at_rest else None,
                )
            )
        )

    def _show_refusals(self) -> None:
        for fate in self._inbox.take_refusals():
            self.journal.warn(f"A response to request {fate.request_id!r} was refused: {fate.refused}")

    def _enter_responses(self, committed: wire.CommitOutcome | None) -> None:
        """Put the accepted responses in flight, in a checkpoint of their own."""
        for request_id in map(_request_id, self._accepted):
            if self._inbox.is_answered(request_id):  # else it was made again meanwhile, and waits
                self._root.answered(request_id)
        self._root.messages.extend(self._accepted)
        header = self._recorder.take("response", self._root.iteration, self._response_stamp)
        self._accepted, self._response_stamp = [], None
        self._recorder.record(header, self._root.messages, committed)

    # --- checkpoints and the end ----------------------------------------------------------------------------

    def _mirror(self) -> None:
        """Commit what no delivery will carry: at rest, while an operator is waited for, and in the store's trouble."""
        carried = not (self._recorder.troubled or self._dispatch.stuck or self._held)
        if self.phase is Phase.ENDED or (self.phase is Phase.RUNNING and carried):
            return
        if self._committing:
            return
        records = self.lineage.carry()
        stow = [self._stow(level) for level in self._held if level.path]
        if records or self._discard or stow:
            self._committing = True
            self._discarding = len(self._discard)
            self._stowing = [one.path for one in stow]
            discard = list(self._discard)
            signature = self._root.graph.signature
            self._decisions.append(
                Commit(wire.CommitInput(graph=signature, records=records, discard=discard, stow=stow))
            )

    def _stow(self, level: Level) -> wire.Stow:
        snapshot = wire.Snapshot(base=self._recorder.base, changes=self._dispatch.changes_of(level.path))
        return wire.Stow(path=path_text(level.path), snapshot=snapshot)

    def _conclude(self) -> None:
        """End the run once the blob store has every checkpoint."""
        if self.phase is Phase.ENDING and not self.lineage.unmirrored and not self._discard:
            self.phase = Phase.ENDED
            if self._cancelled:
                return
            result = self.journal.result(self._root.iteration, self.lineage.head or "")
            self._decisions.append(Finish(result) if self._failure is None else Fail(self._failure))


def _request_id(routed: wire.RoutedMessage) -> str:
    """Return the id of the request that a response answers."""
    request = routed.message.request
    return "" if request is None else request.request_id
