"""What the runs of a store are in need of: the state of each, the checkpoints that open ones may build on, the values.

Reads server and store; deletes nothing, and knows no policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from temporalio.client import Client

from temporal_adapter import wire
from temporal_adapter.store import CheckpointStore, CorruptObject, MissingObject
from temporal_adapter.store.bounded import bounded_map

from .histories import HistoryUnreadable, Mentions, mentions_of
from .links import Links
from .policy import LIVE_CHECKPOINTS, Found, RunState, heads_of, live_ends
from .runs import Known, Run
from .survey import Survey, Written

_HISTORIES_AT_ONCE = 8

Histories = Mapping[Run, Mentions]


async def read_histories(client: Client, runs: Iterable[Run], strangers: Collection[str] = ()) -> dict[Run, Mentions]:
    """Return what the histories of runs refer to; without runs that the server has no more.

    Args:
        client: Of the server.
        runs: The runs.
        strangers: Workflow ids that the store knows nothing of. They may be another store's, so they need not be read.

    Raises:
        HistoryUnreadable: One cannot be read.
        temporalio.service.RPCError: The server cannot be asked.
    """
    wanted = list(runs)

    async def read(run: Run) -> Mentions | None:
        try:
            return await mentions_of(client, *run)
        except HistoryUnreadable:
            if run[0] in strangers:
                return None
            raise

    found = await bounded_map(read, wanted, _HISTORIES_AT_ONCE)
    return {run: mentions for run, mentions in zip(wanted, found, strict=True) if mentions is not None}


class States:
    """Tells what became of each run; of one that went on as new Temporal runs, every link is as the last one is.

    Args:
        survey: What the store has.
        known: What the server has.
    """

    def __init__(self, survey: Survey, known: Known) -> None:
        self._known = known
        self._links = Links((entry for _, entry in survey.runs), known)
        self._entries = {(entry.workflow_id, entry.run_id): entry for _, entry in survey.runs}
        youngest = {entry.workflow_id: (entry.workflow_id, entry.run_id) for _, entry in survey.runs}
        self._last = {workflow_id: self._links.last(run) for workflow_id, run in youngest.items()}
        self._open_ids = {workflow_id for workflow_id, _ in known.open}
        self._unfinished: set[Run] = set()

    async def look_at(self, found: Iterable[Found], checkpoints: CheckpointStore) -> None:
        """See which runs that the server does not have ended with something left to do.

        Raises:
            StoreError: The store cannot be read.
        """

        async def look(head: Found) -> None:
            try:
                manifest = await checkpoints.load_by_id(head.id)
            except (CorruptObject, MissingObject):
                unfinished = True  # for all that is known
            else:
                unfinished = manifest is not None and bool(manifest.messages or manifest.requests)
            if unfinished:
                self._unfinished.update(self._links.last((head.workflow_id, run_id)) for run_id in head.run_ids)

        await bounded_map(look, [one for one in heads_of(found) if one.state in ("gone", "lost")])

    def of_run(self, workflow_id: str, run_id: str) -> RunState:
        """Return the state of a run."""
        if not run_id:
            return "open" if workflow_id in self._open_ids else "in-process"
        run = self._links.last((workflow_id, run_id))
        entry, state = self._entries.get(run), self._known.states.get(run)
        ended = None if entry is None or entry.ended is None else entry.ended.state
        went_on = run in self._known.left or (state is None and ended == "continued")
        if went_on and workflow_id in self._open_ids:
            return "open"  # for all that is known: the store was not told of the link that follows
        if state is not None:
            return "closed" if state == "completed" and entry is not None and entry.session else state
        if ended is not None and ended != "reset" and ended != "continued":
            return ended
        superseded = workflow_id in self._known.workflow_ids or self._last.get(workflow_id, run) != run
        unfinished = run in self._unfinished or (entry is not None and entry.session)
        return "lost" if unfinished and not superseded else "gone"

    def last_link(self, run: Run) -> Run:
        """Return the link that a run is now, or was at its end."""
        return self._links.last(run)

    def of_writers(self, written: Collection[Written]) -> RunState:
        """Return the state for a checkpoint that these wrote: of several runs, that of the one most alive."""
        states = {self.of_run(one.workflow_id, one.run_id) for one in written}
        return next(state for state in _MOST_ALIVE_FIRST if state in states)


_MOST_ALIVE_FIRST: tuple[RunState, ...] = (
    "open",
    "lost",
    "in-process",
    "terminated",
    "timed-out",
    "failed",
    "cancelled",
    "completed",
    "closed",
    "gone",
)


def found_in(survey: Survey, states: States) -> list[Found]:
    """Return the checkpoints of the store."""
    found: list[Found] = []
    for written in survey.checkpoints.values():
        seen = [one for one in written if not one.discarded]
        last = (seen or list(written))[-1]
        found.append(
            Found(
                header=last.header,
                workflow_name=last.workflow_name,
                workflow_id=last.workflow_id,
                run_ids=frozenset(one.run_id for one in written),
                state=states.of_writers(written),
                happened=bool(seen),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Needed:
    """Checkpoints that open runs need, with the reasons."""

    found: list[Found]
    known: Known
    histories: Histories
    entries: list[wire.RunEntry]

    def checkpoints(self) -> dict[str, str]:
        """Return them: ids, with the reasons."""
        needed = dict.fromkeys(live_ends(self.found), f"it is among the last {LIVE_CHECKPOINTS} of an open run")
        by_id = {one.id: one for one in self.found}
        for run in self.known.open:
            reason = f"the open run {run[0]!r} builds on it"
            for checkpoint_id in self._named(run, by_id):
                needed.setdefault(checkpoint_id, reason)
        return {checkpoint_id: reason for checkpoint_id, reason in needed.items() if checkpoint_id in by_id}

    def _named(self, run: Run, by_id: Mapping[str, Found]) -> set[str]:
        named: set[str] = set()
        mentions = self.histories.get(run)
        if mentions is not None:
            named |= mentions.pending
            # What the engine builds on is one of the last that it was told of. Of another run's, all: they are few.
            named.update(list(mentions.bases)[-LIVE_CHECKPOINTS:])
            named.update(one for one in mentions.bases if one in by_id and run[1] not in by_id[one].run_ids)
        for entry in self.entries:
            if (entry.workflow_id, entry.run_id) == run and entry.restored is not None:
                named |= self._restored(entry.restored, run, by_id)
        return named

    def _restored(self, restored: wire.Restore, run: Run, by_id: Mapping[str, Found]) -> set[str]:
        named = {restored.checkpoint_id}
        origin = by_id.get(restored.checkpoint_id)
        if restored.verb == "replay" and origin is not None and not any(run[1] in one.run_ids for one in self.found):
            # It is about to read the responses that came later, too.
            named.update(one.id for one in self.found if one.workflow == origin.workflow)
        return named
