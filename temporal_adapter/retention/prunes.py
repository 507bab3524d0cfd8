"""The prune: looks at store and server, decides, deletes. In this order, so that one that is killed leaves all whole:

1. The mark. What is listed comes after it.
2. Look: contents, checkpoints, entries of runs, then the server, then histories.
3. Decide: `policy` for checkpoints; then what they and the histories that count refer to.
4. Delete checkpoints, the eldest first; then contents, values before their parts; then entries and marks.

A dry run does 2 and 3, and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from temporalio.client import Client

from temporal_adapter.store import BlobStore, CheckpointStore, lineage_order
from temporal_adapter.store.blobs import Entry
from temporal_adapter.store.bounded import REQUESTS_AT_ONCE, bounded_map
from temporal_adapter.store.pruning import Clock, present

from .leftovers import Leftovers
from .mark import Marked, PruneRefused, marked
from .needs import Needed, States, found_in, read_histories
from .policy import CLOSED, STATES, Found, Policy, RunState, kept
from .reports import Kept, Pruned, PrunedWorkflow, Swept
from .runs import Known, Run, known_to
from .survey import Survey, Surveyor
from .sweeping import referred_to, unreferenced

if TYPE_CHECKING:
    from temporalio.converter import PayloadCodec

    from .histories import Mentions

_DEFAULT_NAMESPACE = "default"


async def prune(
    client: Client,
    store: str | BlobStore,
    *,
    older_than: timedelta | None = None,
    keep_last: int | None = None,
    states: Collection[str] = CLOSED,
    workflow_name: str | None = None,
    dry_run: bool = True,
    clock: Clock = present,
) -> Pruned:
    """Delete checkpoints that are no longer wanted, and all that nothing refers to any more.

    A checkpoint goes when its run is in one of the states, *and* it is older than that, *and* it is not among the last
    so many of its lineage. At least one of `older_than` and `keep_last` is given. Whatever they say, what an open run
    may need stays. Safe beside running workers; they may have to wait for the end of it to go on from old checkpoints.

    Args:
        client: A Temporal client of the namespace, with the data converter that the runs' clients have.
        store: The workers' checkpoint store: a path, URL or `BlobStore`.
        older_than: Only checkpoints that were made so long ago.
        keep_last: How many to keep at the end of each lineage of a workflow id.
        states: Of the runs, out of `STATES`; by default all in which a run is over.
        workflow_name: Only checkpoints of this MAF workflow.
        dry_run: Delete nothing, and say what would be deleted.
        clock: Tells the time, with a time zone.

    Raises:
        ValueError: Neither `older_than` nor `keep_last` is given, or what is given makes no sense.
        PruneRefused: Another prune is at work in this namespace; or the mark of this one could not be kept up.
        HistoryUnreadable: What a run needs cannot be known. Nothing was deleted.
        StoreError: The store cannot be read or written, or a later release wrote to it.
        temporalio.service.RPCError: The server cannot be asked.
    """
    policy = _policy(older_than, keep_last, states, workflow_name, clock)
    blobs = BlobStore.of(store, client.data_converter.payload_codec)
    return await _Prune(blobs, client.namespace, client, policy, clock).run(dry_run)


async def prune_offline(
    store: str | BlobStore,
    *,
    namespace: str = _DEFAULT_NAMESPACE,
    older_than: timedelta | None = None,
    keep_last: int | None = None,
    workflow_name: str | None = None,
    dry_run: bool = True,
    payload_codec: PayloadCodec | None = None,
    clock: Clock = present,
) -> Pruned:
    """Prune a store that only `BlobCheckpointStorage` in-process writes to, and no run on Temporal uses.

    Which values a run on Temporal refers to only its server can tell, so a store that has any is refused.

    Args:
        store: A path, URL or `BlobStore`.
        namespace: As the storage was given it.
        older_than: As for `prune`.
        keep_last: As for `prune`.
        workflow_name: As for `prune`.
        dry_run: Delete nothing, and say what would be deleted.
        payload_codec: As the storage was given it.
        clock: Tells the time, with a time zone.

    Raises:
        ValueError: As `prune`.
        PruneRefused: As `prune`; or runs on Temporal use the store.
        StoreError: As `prune`.
    """
    policy = _policy(older_than, keep_last, ["in-process"], workflow_name, clock)
    blobs = BlobStore.of(store, payload_codec)
    return await _Prune(blobs, namespace, None, policy, clock).run(dry_run)


def _policy(
    older_than: timedelta | None,
    keep_last: int | None,
    states: Collection[str],
    workflow_name: str | None,
    clock: Clock,
) -> Policy:
    if older_than is None and keep_last is None:
        raise ValueError("Give older_than, keep_last, or both: without either, all checkpoints of ended runs would go.")
    if keep_last is not None and keep_last < 0:
        raise ValueError(f"keep_last is a number of checkpoints, 0 or more; not {keep_last}.")
    if older_than is not None and older_than < timedelta(0):
        raise ValueError(f"older_than is an age, zero or more; not {older_than}.")
    unknown = sorted(set(states) - set(STATES))
    if unknown or isinstance(states, str):
        raise ValueError(f"There are no runs in states {unknown or states!r}; states are {', '.join(STATES)}.")
    before = None if older_than is None else clock() - older_than
    return Policy(frozenset(cast("Collection[RunState]", states)), before, keep_last, workflow_name)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be deleted, in order. Checkpoints by generation: whenever it ends, it has left ends of lineages."""

    checkpoints: Sequence[Sequence[str]]
    values: Sequence[Entry]
    chunks: Sequence[Entry]
    records: Sequence[Entry]


class _Prune:
    """One prune of one namespace; without a client, of a store that no run on Temporal uses."""

    def __init__(self, blobs: BlobStore, namespace: str, client: Client | None, policy: Policy, clock: Clock) -> None:
        self._blobs = blobs
        self._namespace = namespace
        self._client = client
        self._policy = policy
        self._clock = clock
        self._checkpoints = CheckpointStore(blobs, namespace, cache_bytes=0)

    async def run(self, dry_run: bool) -> Pruned:
        async with AsyncExitStack() as stack:
            mark = None
            if not dry_run:
                mark = await stack.enter_async_context(marked(self._blobs, self._namespace, self._clock))
            plan, report = await self._decided(dry_run)
            if mark is not None:
                await self._carry_out(plan, mark)
        return report

    # --- looking and deciding -------------------------------------------------------------------------------

    async def _decided(self, dry_run: bool) -> tuple[_Plan, Pruned]:
        now = self._clock()
        surveyor = Surveyor(self._blobs, self._namespace)
        values, chunks = await surveyor.contents()
        survey = await surveyor.survey()
        known = await self._known(survey)
        ids = {one.workflow_id for writers in survey.checkpoints.values() for one in writers}
        ids |= {entry.workflow_id for _, entry in survey.runs}
        histories = await self._histories(known.open, strangers={id_ for id_, _ in known.open} - ids)
        found, states = await self._found(survey, known)
        entries = [entry for _, entry in survey.runs]
        staying = kept(found, self._policy, Needed(found, known, histories, entries).checkpoints())
        referred = await self._referred(survey, found, staying, states, histories)
        going = [one for one in found if one.id not in staying]
        leftovers = Leftovers(self._namespace, survey, found, staying, known)
        plan = _Plan(
            checkpoints=_generations(going),
            values=unreferenced(values, referred, now),
            chunks=unreferenced(chunks, referred, now),
            records=[*leftovers.runs(states, self._policy), *leftovers.strays(now)],
        )
        report = Pruned(
            dry_run=dry_run,
            workflows=_by_workflow(found, staying, self._policy.workflow_name),
            checkpoints=_swept(one.entry for gone in going for one in survey.checkpoints[gone.id]),
            values=_swept(plan.values),
            chunks=_swept(plan.chunks),
            records=_swept([*plan.records, *leftovers.index_of_going()]),
            unreadable=tuple(survey.unreadable.values()),
        )
        return plan, report

    async def _referred(
        self,
        survey: Survey,
        found: Iterable[Found],
        staying: Collection[str],
        states: States,
        histories: Mapping[Run, Mentions],
    ) -> set[str]:
        """Return what is referred to. Of runs that are over, histories count while there are checkpoints of them.

        The last link of a run refers to all that the links before it left of the run's events.
        """
        of_kept = {(one.workflow_id, run_id) for one in found if one.id in staying for run_id in one.run_ids if run_id}
        of_kept |= {states.last_link(run) for run in of_kept}
        over = await self._histories(sorted(of_kept - set(histories)))
        objects = [one for id_, written in survey.checkpoints.items() if id_ in staying for one in written]
        return await referred_to(self._blobs, self._namespace, objects, [*histories.values(), *over.values()])

    async def _known(self, survey: Survey) -> Known:
        if self._client is None:
            self._check_offline(survey)
            return Known({}, frozenset())
        written = [one for writers in survey.checkpoints.values() for one in writers]
        entries = [entry for _, entry in survey.runs]
        runs = {(one.workflow_id, one.run_id) for one in [*written, *entries]}
        return await known_to(self._client, runs, {one.workflow_name for one in [*written, *entries]})

    def _check_offline(self, survey: Survey) -> None:
        ids = {entry.workflow_id for _, entry in survey.runs}
        ids |= {one.workflow_id for writers in survey.checkpoints.values() for one in writers if one.run_id}
        if ids:
            raise PruneRefused(
                f"The blob store {self._blobs.url} (namespace {self._namespace!r}) has checkpoints of runs on "
                f"Temporal, such as {min(ids)!r}. What these refer to only the server can tell: prune it "
                "with a client, temporal-adapter checkpoint prune."
            )

    async def _histories(self, runs: Iterable[Run], strangers: Collection[str] = ()) -> dict[Run, Mentions]:
        return {} if self._client is None else await read_histories(self._client, runs, strangers)

    async def _found(self, survey: Survey, known: Known) -> tuple[list[Found], States]:
        states = States(survey, known)
        found = found_in(survey, states)
        await states.look_at(found, self._checkpoints)
        return found_in(survey, states), states

    # --- deleting -------------------------------------------------------------------------------------------

    async def _carry_out(self, plan: _Plan, mark: Marked) -> None:
        for generation in plan.checkpoints:
            await self._each(generation, self._checkpoints.delete, mark)
        for entries in (plan.values, plan.chunks, plan.records):
            await self._each([entry.name for entry in entries], self._blobs.delete, mark)

    async def _each(self, names: Sequence[str], delete: Callable[[str], Awaitable[object]], mark: Marked) -> None:
        for start in range(0, len(names), REQUESTS_AT_ONCE):
            await mark.confirm()
            await bounded_map(delete, names[start : start + REQUESTS_AT_ONCE])


def _generations(found: Iterable[Found]) -> list[list[str]]:
    """Return the ids of checkpoints, parents in an earlier list than their children."""
    depths: dict[str | None, int] = {}
    for header in lineage_order(one.header for one in found):
        depths[header.checkpoint_id] = depths.get(header.previous_checkpoint_id, -1) + 1
    generations: list[list[str]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for checkpoint_id, depth in depths.items():
        if checkpoint_id is not None:
            generations[depth].append(checkpoint_id)
    return generations


def _swept(entries: Iterable[Entry]) -> Swept:
    sizes = [entry.size for entry in entries]
    return Swept(len(sizes), sum(sizes))


def _by_workflow(
    found: Iterable[Found], staying: dict[str, str], workflow_name: str | None
) -> tuple[PrunedWorkflow, ...]:
    groups: dict[tuple[str, str], list[Found]] = {}
    for one in found:
        if one.happened and workflow_name in (None, one.workflow_name):
            groups.setdefault((one.workflow_id, one.workflow_name), []).append(one)
    made: list[PrunedWorkflow] = []
    for (workflow_id, name), group in sorted(groups.items()):
        ids = [header.checkpoint_id for header in lineage_order(one.header for one in group)]
        made.append(
            PrunedWorkflow(
                workflow_name=name,
                workflow_id=workflow_id,
                states=tuple(sorted({one.state for one in group})),
                deleted=tuple(one for one in ids if one not in staying),
                kept=tuple(Kept(one, staying[one]) for one in ids if one in staying),
            )
        )
    return tuple(made)
