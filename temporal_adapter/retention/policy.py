"""Which checkpoints go, and why the others stay. Pure functions; no I/O, no clock.

What somebody needs is decided elsewhere and given here; it stays, whatever the policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, get_args

from temporal_adapter import wire

RunState = Literal[
    "open", "completed", "failed", "cancelled", "terminated", "timed-out", "closed", "gone", "lost", "in-process"
]
"""What became of the run that wrote a checkpoint.

`closed` is a session's own end. `gone` is a run that the server no longer has and that had ended; one that looks as if
it were open is `lost`, for it may be that the server is a new one, and has yet to adopt it. `in-process` checkpoints
were saved by MAF's own runner, or by a release that did not note runs.
"""

STATES: tuple[RunState, ...] = get_args(RunState)

CLOSED: frozenset[RunState] = frozenset(
    ["completed", "failed", "cancelled", "terminated", "timed-out", "closed", "gone"]
)
"""States of runs that are over: what a prune takes unless told otherwise."""

LIVE_CHECKPOINTS = 10
"""How many checkpoints at the end of an open run's lineage stay."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A checkpoint goes when all of this holds: its state, its age, and its place in its lineage.

    Attributes:
        states: Of runs whose checkpoints may go.
        before: When it must have been made before; None: at any time.
        keep_last: How many stay at the end of each lineage of a workflow id; None: none for that reason.
        workflow_name: Only of this workflow.
    """

    states: Collection[RunState]
    before: datetime | None = None
    keep_last: int | None = None
    workflow_name: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint of the store.

    Attributes:
        run_ids: The runs that wrote it: one; several where Temporal's reset made a run of another.
        happened: False for one that is marked as never having happened, which nobody sees.
    """

    header: wire.CheckpointHeader
    workflow_name: str
    workflow_id: str
    run_ids: frozenset[str]
    state: RunState
    happened: bool = True

    @property
    def id(self) -> str:
        """Its id."""
        return self.header.checkpoint_id

    @property
    def workflow(self) -> tuple[str, str]:
        """The workflow's name and workflow id."""
        return self.workflow_name, self.workflow_id


def kept(found: Iterable[Found], policy: Policy, needed: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of the checkpoints that stay, each with the reason.

    Args:
        found: All checkpoints of a namespace.
        policy: What may go.
        needed: Ids of checkpoints that somebody needs, each with the reason.
    """
    everything = list(found)
    last = ends_of_lineages(everything, policy.keep_last or 0)
    staying: dict[str, str] = {}
    for one in everything:
        if one.happened:
            reason = _reason(one, policy, needed, last)
            if reason is not None:
                staying[one.id] = reason
    # What never happened goes with its run.
    of_kept = {run_id for one in everything if one.id in staying for run_id in one.run_ids}
    for one in everything:
        if not one.happened and (one.id in needed or one.run_ids & of_kept or not _may_go(one, policy)):
            staying[one.id] = needed.get(one.id, "its run has others")
    return staying


def _reason(one: Found, policy: Policy, needed: Mapping[str, str], last: Collection[str]) -> str | None:
    if one.id in needed:
        return needed[one.id]
    if policy.workflow_name not in (None, one.workflow_name):
        return "it is of another workflow"
    if one.state not in policy.states:
        return f"its run is {one.state}"
    if one.id in last:
        return f"it is among the last {policy.keep_last} of its lineage"
    return None if policy.before is None or is_older(one.header.timestamp, policy.before) else "it is too young"


def _may_go(one: Found, policy: Policy) -> bool:
    return policy.workflow_name in (None, one.workflow_name) and one.state in policy.states and one.state != "open"


def is_older(timestamp: str, moment: datetime) -> bool:
    """Return whether a time, in ISO 8601, is before a moment; False for one that cannot be read."""
    try:
        made = datetime.fromisoformat(timestamp)
    except ValueError:  # another's checkpoint may have any text there
        return False
    return (made if made.tzinfo is not None else made.replace(tzinfo=timezone.utc)) < moment


def ends_of_lineages(found: Iterable[Found], count: int) -> set[str]:
    """Return the ids of the last so many checkpoints of every lineage of every workflow id."""
    groups: dict[tuple[str, str], dict[str, Found]] = {}
    for one in found:
        if one.happened:
            groups.setdefault(one.workflow, {})[one.id] = one
    return {
        one.id for group in groups.values() for head in heads_of(group.values()) for one in way_back(head, group, count)
    }


def live_ends(found: Iterable[Found]) -> set[str]:
    """Return the ids of the last `LIVE_CHECKPOINTS` of every lineage of an open run, whoever wrote them."""
    by_id = {one.id: one for one in found if one.happened}
    return {
        one.id
        for head in heads_of(by_id.values())
        if head.state == "open"
        for one in way_back(head, by_id, LIVE_CHECKPOINTS)
    }


def heads_of(found: Iterable[Found]) -> list[Found]:
    """Return the checkpoints that none of the same workflow id follows."""
    happened = [one for one in found if one.happened]
    parents = {(one.workflow, one.header.previous_checkpoint_id) for one in happened}
    heads = [one for one in happened if (one.workflow, one.id) not in parents]
    ended = {one.workflow for one in heads}
    return heads + [one for one in happened if one.workflow not in ended]  # round in a circle, by damage


def way_back(head: Found, by_id: Mapping[str, Found], count: int) -> Iterator[Found]:
    """Yield a checkpoint and those before it in its lineage, so many in all."""
    at: Found | None = head
    for _ in range(count):
        if at is None:
            return
        yield at
        at = by_id.get(at.header.previous_checkpoint_id or "")
