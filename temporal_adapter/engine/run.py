"""A run at work: what follows from each fact, superstep by superstep, until it rests or ends.

What its owner may ask of it from outside is `machine`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Literal

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

from .commits import Commits
from .deadlines import Deadlines
from .decisions import Decision, Fail, Finish, TurnEnded
from .dispatch import Dispatch, Position
from .facts import CancelRequested
from .inbox import Source
from .journal import Journal
from .level import Caller, Level
from .lineage import Lineage
from .recorder import Recorder, Stamp
from .responses import Responses
from .superstep import Superstep, events_of, invoked

_NOT_SEEDED = wire.Graph(name="", signature="", start_executor_id="", executors=[], max_iterations=0)


class Phase(Enum):
    """Where a run stands."""

    SEEDING = "seeding"
    RUNNING = "running"
    PAUSED = "paused"
    IDLE = "idle"  # a session between inputs
    ENDING = "ending"
    ENDED = "ended"


class Run:
    """The state of one run of one MAF workflow, and how it goes on.

    Args:
        mint: A new id and the present time.
        marks_end: Whether the store is told that a run failed, was cancelled or closed.
        clock: The present time (ISO 8601, UTC) where it is only shown: nothing may depend on it.
        leaves: Whether the run is to go on as another Temporal run, rather than begin the next superstep; told whether
            the store is in trouble, which would have to pass first.

    Attributes:
        held: The next superstep waits, since the run is to go on as another Temporal run.
        continues: How many events of history the run may have before it is to; None: as many as there may be.
        moves: Whether it is to, also where its worker deployment has another version.
    """

    def __init__(
        self,
        mint: Callable[[], Stamp],
        marks_end: Callable[[], bool] = lambda: True,
        clock: Callable[[], str | None] = lambda: None,
        leaves: Callable[[bool], bool] = lambda _: False,
    ) -> None:
        self._decisions: list[Decision] = []
        self.phase = Phase.SEEDING
        self.journal = Journal()
        self._recorder = Recorder(mint, self.journal)
        self._responses = Responses(self._recorder, self.journal, clock)
        self._cancellations = self._responses.cancellations
        self._root = Level(_NOT_SEEDED, self._recorder.put)
        self._deadlines = Deadlines(self._waits)
        self.counts_requests = False  # in Temporal's search attribute
        self._options = wire.StartOptions()
        self._seeded = False
        self._restoring = False  # what is being seeded is a checkpoint
        self._rest_phase = Phase.IDLE  # of a session, before the input that is being seeded
        self._marks_end = marks_end
        self._leaves = leaves
        self.entered = True  # else it comes from another Temporal run, and has not yet gone on
        self.held = False
        self._start_shown = False  # that it starts was shown: it was given back by workers of another graph
        self._graph_awaited = False  # responses are judged by workers of another graph, once the run is migrated
        # A delivery has just ended: what else lets a run go on may come in another order in a replay.
        self._may_hold = False
        self._anyway = False  # what is held begins even where no message is in flight
        self.continues: int | None = None
        self.moves = False
        self._dispatch = Dispatch(self._recorder)
        self._commits = Commits(self._recorder, self._dispatch)
        self.waits_for_operator = False  # when an executor fails, instead of failing the run
        self._failure: wire.Failure | None = None  # of a run that is ending badly
        self._cancelled = False
        self._inner: list[tuple[Level, wire.RestoredLevel]] = []  # sub-workflows of a session as a superstep found them

    @property
    def lineage(self) -> Lineage:
        """The checkpoints recorded so far."""
        return self._recorder.lineage

    @property
    def graph_known(self) -> bool:
        """Whether a commit can be made for the run."""
        return self._root.graph is not _NOT_SEEDED

    # --- facts ----------------------------------------------------------------------------------------------

    def _on_seeded(self, result: wire.SeedResult) -> None:
        if self.phase is not Phase.SEEDING:
            return  # cancelled meanwhile
        restored = result.restored
        self.continues, self.moves = result.continues, result.moves
        if not self._seeded or restored is not None:
            self._root = Level(result.graph, self._recorder.put)
            self._root.add_children(lambda place, value: self._dispatch.aside.put(place, value))
            self.waits_for_operator = result.waits_for_operator
            self.counts_requests = result.counts_requests
        self._seeded, self.phase = True, Phase.RUNNING
        if restored is not None:
            self._restore(restored)
        for key, value in result.state.items():
            self._root.put("state", key, value)
        for path, changes in {"": wire.Changes(executors={**result.executors}), **result.children}.items():
            for executor_id, value in changes.executors.items():
                self._recorder.put((path, "executors", executor_id), value)
        if result.message is not None:
            self._root.count_anew()
            self._root.messages = [result.message]
        if result.message is not None or result.commit is not None:
            header = self._recorder.take("entry", 0)
            header = wire.replace(header, iteration=self._root.iteration)
            self._recorder.record(header, self._root.messages, result.commit, result.run)
        anyway = restored is not None and bool(wire.cancelled_in(restored.header.metadata))
        self._begin_superstep(self._root, anyway=anyway)

    def _on_input_refused(self, failure: wire.Failure) -> None:
        if self.phase is not Phase.SEEDING:
            return  # cancelled meanwhile
        self.journal.fail(failure.details)
        self._discard_promised()
        self.phase = self._rest_phase
        self._end_turn(failure)

    def _restore(self, restored: wire.Restored) -> None:
        """Go on from a checkpoint, as MAF does: its pending requests show again."""
        root = self._root
        self._recorder.restore(restored.base, restored.header)
        for level in root.with_children():
            level.restore(restored.levels.get(path_text(level.path), wire.RestoredLevel()))
        for request in root.requests.values():
            self._responses.inbox.ask_again(request.request_id)
            if request.request_id in restored.answered:  # as in MAF, it is not shown to whoever answers it
                self.journal.announce_requests()
            else:
                self.journal.emit(wire.Event(type="request_info", origin=request.origin, request=request))
        for request_id in restored.answered:
            root.answered(request_id)
        for request in root.requests.values():
            self._deadlines.watch(request)
        root.messages = restored.messages
        self._responses.repeat(restored.recorded)

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
            if result.call.messages:
                self._begin_superstep(child)
            else:
                self._tell_of_cancelled(child, result.call.cancelled)
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
                self._responses.inbox.ask_again(event.request.request_id)
                self._deadlines.watch(event.request)
            self.journal.emit(event)

    def _waits(self, request: wire.Request) -> bool:
        """Whether this very request waits for a response, and not one of the same id that was made later."""
        found = self._root.requests.get(request.request_id)
        inbox = self._responses.inbox
        return (
            found is not None
            and found.asked_at == request.asked_at
            and inbox.why_not_pending(request.request_id, self._root.requests) is None
        )

    def _on_delivery_failed(self, index: int, failure: wire.Failure) -> None:
        position = self._dispatch.ended(index)
        if position is None:
            return
        if not self.waits_for_operator:
            self._executor_failed(position, failure)
            return
        self._dispatch.settle(index, None)
        executor = self._dispatch.keep_failed(position, failure)
        self.journal.warn(
            f"Executor {executor!r} failed, and the run waits for an operator's `retry`: {_told(failure)}"
        )

    def _on_responses_judged(self, result: wire.RespondResult) -> None:
        if self.phase not in (Phase.RUNNING, Phase.PAUSED, Phase.IDLE):
            return  # refused already, when the run failed
        self._responses.judged(result, self._root)
        if self._responses.accepted:
            if self.phase is Phase.PAUSED:
                at = result.at if result.stamped else None
                self._go_on_with_responses(result.commit, at, audited=result.audited)
        else:
            self._responses.none_accepted()
            if self.phase is Phase.PAUSED:
                self._recorder.withdraw()

    def _go_on_with_responses(
        self, committed: wire.CommitOutcome | None, at: str | None = None, *, audited: bool = True
    ) -> None:
        self.phase = Phase.RUNNING
        self.journal.begin()
        self._responses.enter(self._root, committed, at, audited=audited)
        self._begin_superstep(self._root)

    def _on_committed(self, outcome: wire.CommitOutcome, stowed: tuple[wire.Value, ...]) -> None:
        for level in self._commits.settle(outcome, stowed):
            self._run_superstep(level)

    # --- cancelled requests ---------------------------------------------------------------------------------

    def _cancel_requests(self, ticket: int, asked: wire.CancelRequests, *, source: Source = "person") -> None:
        self._cancellations.receive(CancelRequested(ticket, asked, source))

    def _cancel_asked(self) -> None:
        """Cancel what was asked for; a run at rest goes on by telling the executors."""
        if self.phase in (Phase.ENDING, Phase.ENDED):
            self._cancellations.refuse_all("the run has ended.")
            return
        if not self.entered:
            return  # it may go on in another graph
        if self.phase is Phase.SEEDING and (self._seeded or self._restoring):
            return  # what is pending is known when it is seeded
        self._cancellations.take(self._root.requests)
        if self.phase is Phase.PAUSED and not self._responses.under_judgement and self._cancellations.due(self._root):
            self._go_on_with_cancelled()

    def _go_on_with_cancelled(self) -> None:
        self.phase = Phase.RUNNING
        self.journal.begin()
        self._tell_of_cancelled(self._root, self._cancellations.begin(self._root))

    def _tell_of_cancelled(self, level: Level, request_ids: Sequence[str]) -> None:
        """Let executors know of requests of theirs that were cancelled, before the next superstep."""
        if level is self._root:
            self._keep_inner()
        level.open_cancellation(request_ids, f"{self._key(level)}/cancelled")
        self._run_superstep(level)

    def _while_held(self) -> None:
        """What came since the last superstep ended is as if it had come before."""
        if self._responses.accepted:
            self._responses.enter(self._root, None)
        if self._cancellations.due(self._root):
            self.held = False
            self._tell_of_cancelled(self._root, self._cancellations.begin(self._root))

    def _keep_inner(self) -> None:
        if self._options.session:
            self._inner = [(one, one.kept()) for one in self._root.with_children() if one is not self._root]

    # --- supersteps -----------------------------------------------------------------------------------------

    def _begin_superstep(self, level: Level, *, anyway: bool = False) -> None:
        """Begin the next superstep if there is a message in flight; as in MAF also `anyway`, after a cancellation."""
        if not level.messages and not (anyway and level.beyond_limit() is None):
            self._rest(level)
            return
        failure = level.beyond_limit()
        if failure is not None:
            self._workflow_failed(level, failure)
            return
        if level is self._root:
            if self._may_hold and self._leaves(self._recorder.troubled):
                self.held, self._anyway = True, anyway
                return
            if not self._start_shown:
                self.journal.superstep("superstep_started", level.iteration + 1)
            self._start_shown = False
            self._keep_inner()
        superstep = level.open_superstep(self._key(level))
        if not isinstance(superstep, Superstep):
            self._workflow_failed(level, superstep)
            return
        self._run_superstep(level)

    def _run_superstep(self, level: Level) -> None:
        superstep = level.under_way
        if not self._dispatch.may_begin(level, superstep):
            self._commits.held.append(level)
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
        if level is self._root:
            self._inner = []
        for conflict in conflicts:
            self.journal.warn(str(conflict))
        if level is not self._root:
            self._begin_superstep(level, anyway=superstep.cancelling)
            return
        self.journal.merge(events)
        for place, value in self._dispatch.aside.drain():
            self._recorder.put(place, value)
        committed = superstep.last_result.own if superstep.deliveries else None
        kind: wire.CheckpointKind = "response" if superstep.cancelling else "superstep"
        self._recorder.record(self._recorder.take(kind, level.iteration), level.messages, committed)
        if superstep.cancelling:
            self._cancellations.end()
        else:
            self.journal.superstep("superstep_completed", level.iteration)
            self._responses.accept_recorded(level, at_rest=False)
        if self._responses.accepted:
            self._responses.enter(level, None)
        if self._cancellations.due(level):
            self._tell_of_cancelled(level, self._cancellations.begin(level))
        else:
            self._begin_superstep(level, anyway=superstep.cancelling)

    def _rest(self, level: Level) -> None:
        """No message is in flight: a sub-workflow's caller goes on; the run pauses while requests are pending."""
        if level.caller is not None:
            self._return_to(level.caller, level)
        elif level.requests:
            self.phase = Phase.PAUSED
            self.journal.status("IDLE_WITH_PENDING_REQUESTS")
            self._responses.accept_recorded(level, at_rest=True)
            if self._responses.accepted:
                self._go_on_with_responses(None)
            elif self._cancellations.due(level):
                self._go_on_with_cancelled()
            else:
                self._end_turn(None)
        else:
            self.phase = Phase.IDLE if self._options.session else Phase.ENDING
            for one in level.with_children():
                for warning in one.unfilled_fan_ins():
                    self.journal.warn(warning)
            self.journal.status("IDLE")
            self._end_turn(None)

    def _end_turn(self, failure: wire.Failure | None) -> None:
        """A session is at rest again."""
        if self._options.session:
            self._decisions.append(TurnEnded(failure))

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
            if not delivery.cancelled:  # as MAF, which runs no handler then
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
            self._commits.abandon(list(level.with_children()))
            level.abandon()
            self._return_to(caller, level, failure)
        else:
            self._executor_failed((caller.level, caller.position), failure)

    def _fail(self, failure: wire.Failure) -> None:
        self.journal.fail(failure.details)
        if self._options.session:  # as in MAF, the workflow can be given another input; what was in flight is gone
            self._abandon_superstep()
            if self._root.superstep is not None:
                self._root.undo_superstep()
            self._root.abandon()
            for child, kept in self._inner:
                child.restore(kept)
            self.phase = Phase.PAUSED if self._root.requests else Phase.IDLE
            self._end_turn(failure)
            return
        self._failure = failure
        self._stop("the run failed.", "failed")

    def _stop(self, reason: str, ended: Literal["failed", "cancelled"]) -> None:
        """Leave the superstep under way, if any, without its outcome, and the run."""
        self.phase = Phase.ENDING
        self._abandon_superstep()
        self._responses.refuse_all(reason)
        self._mark_ended(ended)

    def _abandon_superstep(self) -> None:
        self.held = self._start_shown = False
        self._discard_promised()
        self._dispatch.abandon()
        self._commits.abandon()
        self._responses.keep(self._root)
        self._cancellations.fail()

    def _discard_promised(self) -> None:
        withdrawn = self._recorder.withdraw()
        if withdrawn is not None:
            self._commits.discard(withdrawn)

    def _mark_ended(self, state: Literal["failed", "cancelled", "closed", "reset"]) -> None:
        if self.graph_known and self._marks_end():
            at = self._recorder.mint().timestamp
            self._commits.mark_ended(wire.Ended(state=state, checkpoint_id=self.lineage.head, at=at))

    def _judge(self) -> None:
        if self.phase in (Phase.ENDING, Phase.ENDED):
            self._responses.refuse_all("the run has ended.")
            return
        if self.phase is Phase.SEEDING and (self._seeded or self._restoring):
            return  # what is pending is known when it is seeded
        if self._graph_awaited or not self.entered:
            return
        at_rest = self.phase is Phase.PAUSED and not self.lineage.unmirrored
        decision = self._responses.judge(self._root, at_rest=at_rest)
        if decision is not None:
            self._decisions.append(decision)

    # --- checkpoints and the end ----------------------------------------------------------------------------

    def _mirror(self) -> None:
        """Commit what no delivery will carry: at rest, while an operator is waited for, and in the store's trouble."""
        if not self.graph_known:  # a session that refused its first input; what is owed waits for one that it takes
            if self.phase is Phase.ENDING:
                self._commits.nothing_to_discard()
            return
        if self.phase is Phase.ENDED or (self.phase is Phase.RUNNING and not (self._commits.wanted or self.held)):
            return
        commit = self._commits.next(self._root.graph)
        if commit is not None:
            self._decisions.append(commit)

    def _conclude(self) -> None:
        """End the run once the blob store has every checkpoint."""
        if self.phase is Phase.ENDING and not self._commits.owed:
            self.phase = Phase.ENDED
            if self._cancelled:
                return
            result = self.journal.result(self._root.iteration, self.lineage.head or "")
            self._decisions.append(Finish(result) if self._failure is None else Fail(self._failure))


def _told(failure: wire.Failure) -> str:
    """Return a failure as MAF's events may show it: without its message, unless MAF is set to show that."""
    if failure.details.message in ("", failure.error_type):
        return f"{failure.error_type} (the run's status has the message)"
    return f"{failure.error_type}: {failure.details.message}"
