"""How a run goes on as another Temporal run (continue-as-new): when it may leave, and what it takes along.

It leaves between two supersteps, or at rest, when the blob store has all it is owed and nothing that came is without
an outcome. Whether it is to is the owner's to say; what is carried over is the engine's whole state (`wire.Carried`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

from .deadlines import Deadlines
from .facts import WentOn
from .level import Level
from .log import Log
from .run import Phase
from .waiting import WaitingRun

_PHASES = {"running": Phase.RUNNING, "paused": Phase.PAUSED, "idle": Phase.IDLE}


class LeavingRun(WaitingRun):
    """A run that can be carried over."""

    @property
    def may_leave(self) -> bool:
        """Whether nothing would be lost if the run went on as another Temporal run now."""
        between = self.entered and (self.held or self.phase in (Phase.PAUSED, Phase.IDLE))
        unjudged = self._responses.inbox.queued and not self._graph_awaited
        unsettled = self._commits.owed or self._commits.under_way or self._responses.busy or unjudged
        return self.graph_known and between and not unsettled

    @property
    def logs(self) -> Mapping[str, Log[Any]]:
        """The lists that grow with the run, by their names in `wire.Tails` and `wire.Archived`."""
        journal = self.journal
        return {
            "events": journal.log,
            "outputs": journal.outputs,
            "checkpoints": self.lineage.log,
            "responses": self._responses.audit.log,
        }

    def archive(self, name: str, pages: list[wire.ArchivedPage]) -> None:
        """The blob store has these pages of a list now."""
        self.logs[name].archive(pages)
        self._responses.audit.count_anew()

    def archived(self) -> wire.Archived:
        """Return the pages of the lists that the blob store has."""
        return wire.Archived(**{name: list(log.pages) for name, log in self.logs.items()})

    def tails(self) -> wire.Tails:
        """Return what follows these pages."""
        return wire.Tails(**{name: list(log.items) for name, log in self.logs.items()})

    def carried(self) -> wire.CarriedState:
        """Return all that the run knows beside its lists; it may leave."""
        root, inbox = self._root, self._responses.inbox
        answered, gone = inbox.carried(root.requests)
        due, reminders = self._deadlines.carried(root.requests)
        return wire.CarriedState(
            options=self.options_to_carry(),
            graph=root.graph,
            phase="running" if self.held else "paused" if self.phase is Phase.PAUSED else "idle",
            anyway=self._anyway,
            shown=self._start_shown,
            waiting=inbox.waiting(),
            seeded=self._seeded,
            waits_for_operator=self.waits_for_operator,
            counts_requests=self.counts_requests,
            state=self.journal.state,
            announced_requests=self.journal.announced_requests,
            head=self.lineage.head,
            number=self.lineage.next_ordinal,
            snapshot=self._recorder.snapshot(),
            messages=root.messages,
            levels={path_text(level.path): level.carried() for level in root.with_children()},
            answered=answered,
            gone=gone,
            recorded=self._responses.still_recorded,
            due=due,
            reminders=reminders,
        )

    def options_to_carry(self) -> wire.StartOptions:
        """Return what holds for the whole run: what its first input brought along is in the shared state."""
        options = self._options
        return wire.StartOptions(
            encoding="tagged",
            on_failure=options.on_failure,
            stream=options.stream,
            session=options.session,
            restore=wire.without_gifts(options.restore),
        )

    def go_on(self, state: wire.CarriedState, tails: wire.Tails, archived: wire.Archived) -> None:
        """Be what another Temporal run carried over; `WentOn` has it go on from there."""
        self.entered = False
        self._options, self._seeded = state.options, state.seeded
        self.waits_for_operator, self.counts_requests = state.waits_for_operator, state.counts_requests
        self.phase = _PHASES[state.phase]
        self.held, self._anyway = state.phase == "running", state.anyway
        self._start_shown = state.shown
        for name, log in self.logs.items():
            log.load(getattr(archived, name), getattr(tails, name))
        self._responses.audit.count_anew()
        self.journal.state, self.journal.announced_requests = state.state, state.announced_requests
        self._recorder.go_on(state)
        self._build(state.graph)
        for level in self._root.with_children():
            level.go_on(state.levels.get(path_text(level.path), wire.CarriedLevel()))
        self._root.messages = list(state.messages)
        self._responses.inbox.go_on(state.answered, state.gone)
        for one in state.waiting:
            self._responses.receive(0, tuple(one.responses), whole=one.whole, source=one.source, state=one.state)
        self._responses.repeat(state.recorded)
        self._deadlines.go_on(state.due, state.reminders, self._root.requests)

    # --- workers that have another graph --------------------------------------------------------------------

    def _on_stranded(self, index: int) -> None:
        """Give the superstep under way back, if nothing of it has happened: the run can be migrated then."""
        superstep, self._commits.describes = self._root.superstep, True
        if not self._dispatch.strand(index) or superstep is None or self.continues is None:
            return
        if self.phase is not Phase.RUNNING or superstep.cancelling or not superstep.untouched:
            return
        self._discard_promised()
        self._dispatch.abandon()
        self._commits.abandon()
        self._root.undo_superstep()
        self.held, self._anyway, self._start_shown = True, not self._root.messages, True

    def _on_judgement_stranded(self) -> None:
        """The responses are judged in the graph that the run is migrated to."""
        self._put_judgement_back()
        self._commits.describes = True
        self._graph_awaited = self.continues is not None

    def _on_judgement_failed(self, failure: wire.Failure) -> None:
        """The run fails, since its graph is another than its workers have now."""
        self._put_judgement_back()
        self._fail(failure)

    def _put_judgement_back(self) -> None:
        self._responses.inbox.put_back()
        self._recorder.withdraw()
        self._responses.none_accepted()

    def _on_input_stranded(self) -> None:
        """The session is at rest, as before the input."""
        self._commits.describes = True
        if self.phase is Phase.SEEDING:
            self._discard_promised()
            self.phase = self._rest_phase
            self.journal.status("IDLE_WITH_PENDING_REQUESTS" if self._root.requests else "IDLE")

    def release(self, tickets: Collection[int]) -> None:
        """Whoever sent these responses, and waits for an answer, is told to send them again."""
        for ticket in tickets:
            self._responses.inbox.release(ticket)

    # --- going on -------------------------------------------------------------------------------------------

    def promise_migration(self) -> wire.CheckpointHeader:
        """Return the header of the checkpoint that the head of the lineage may be migrated in."""
        stamp = self._recorder.mint()
        return wire.CheckpointHeader(
            checkpoint_id=stamp.id,
            previous_checkpoint_id=self.lineage.head,
            iteration=self._root.iteration,
            timestamp=stamp.timestamp,
            kind="fork",
            number=self.lineage.next_ordinal,
        )

    def _on_went_on(self, fact: WentOn) -> None:
        result, self.entered = fact.result, True
        self.continues, self.moves = result.continues, result.moves
        if self.phase in (Phase.ENDING, Phase.ENDED):
            return  # cancelled meanwhile
        if result.graph is not None and result.restored is not None:
            self._migrate(result.graph, result.restored)
        self._cancel_asked()  # what came before
        if self.held:
            self._while_held()
        if self.held:
            self.held = False
            self._begin_superstep(self._root, anyway=self._anyway)

    def _migrate(self, graph: wire.Graph, restored: wire.Restored) -> None:
        """Go on in another graph, from a checkpoint that was made for it of the head of the lineage."""
        known, completed = self._root.requests, self._root.completed
        due, reminders = self._deadlines.carried(known)
        self._build(graph)
        self._recorder.restore(restored.base, restored.header)
        self.lineage.next_ordinal += 1  # it is one of this run's own
        for level in self._root.with_children():
            level.restore(restored.levels.get(path_text(level.path), wire.RestoredLevel()))
        self._root.completed.update({one: completed[one] for one in graph.executors if one in completed})
        self._root.messages = restored.messages
        requests = self._root.requests
        timed = {key for key, one in requests.items() if key in known and _times(one) == _times(known[key])}
        self._deadlines = Deadlines(self._waits)
        self._deadlines.go_on([one for one in due if one.request_id in timed], reminders, requests)
        for request_id, request in requests.items():
            if request_id not in known:
                self.journal.emit(wire.Event(type="request_info", origin=request.origin, request=request))
            if request_id not in timed:
                self._deadlines.watch(request)
        self.journal.warn(f"The run was migrated to another graph, in checkpoint {restored.header.checkpoint_id!r}.")
        if self._root.messages or self.held:
            self.phase, self.held = Phase.RUNNING, True
        elif self.phase is Phase.PAUSED and not self._root.requests:
            self.phase = Phase.RUNNING
            self._rest(self._root)

    def _build(self, graph: wire.Graph) -> None:
        self._root = Level(graph, self._recorder.put)
        self._root.add_children(lambda place, value: self._dispatch.aside.put(place, value))


def _times(request: wire.Request) -> tuple[str | None, wire.Deadline | None]:
    """Return all that the times of a request's reminders and expiry follow from."""
    return request.asked_at, request.deadline
