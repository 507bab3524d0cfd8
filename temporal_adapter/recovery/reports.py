"""What rebuilding, verifying and adopting have to say. Small shapes for people's eyes; no I/O, and nothing decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class LostValue:
    """A value that was in the blob store alone, and is gone: nothing can rebuild it.

    Attributes:
        checkpoint_id: A checkpoint that holds it; empty for what the links of a run leave for the next ones.
        place: Where in the checkpoint, such as `state['report']` or `children['review'].messages[0].data`; or what of
            the run, such as `events 0 to 57`.
        reference: The value's name in the store.
        size: Bytes of its JSON text.
        run_id: The run that was left it, where it is of no checkpoint.
    """

    checkpoint_id: str
    place: str
    reference: str
    size: int
    run_id: str = ""

    def __str__(self) -> str:
        where = f"checkpoint {self.checkpoint_id}" if self.checkpoint_id else f"run {self.run_id}"
        return f"{where}: {self.place} is lost: {self.size} bytes, value {self.reference}"


@dataclass(frozen=True, slots=True)
class NotRebuilt:
    """A checkpoint that could not be written again, and why."""

    checkpoint_id: str
    reason: str

    def __str__(self) -> str:
        return f"checkpoint {self.checkpoint_id}: not rebuilt: {self.reason}"


@dataclass(frozen=True, slots=True)
class RebuiltRun:
    """What became of one run's checkpoints. All ids are in lineage order.

    Attributes:
        written: Checkpoints that were missing, damaged or different.
        kept: Those that were right.
        failed: Those that could not be rebuilt.
        lost: Values that are gone.
        values: References of values that were written again: entries of sub-workflows, and what a link left the next.
        in_flight: Checkpoints that activities are writing now; not history's yet.
    """

    workflow_name: str
    run_id: str
    written: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    failed: tuple[NotRebuilt, ...] = ()
    lost: tuple[LostValue, ...] = ()
    values: tuple[str, ...] = ()
    in_flight: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The runs of a workflow id, oldest first; of a run that went on as new Temporal runs, each of these.

    Attributes:
        gone: The ids of runs that others went on from, and that the server has no more.
    """

    workflow_id: str
    runs: tuple[RebuiltRun, ...]
    gone: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything that history tells of is in the store."""
        return not any(run.lost or run.failed for run in self.runs)


DifferenceKind = Literal["missing", "differs", "damaged", "value lost", "value damaged", "unrecorded", "unknown"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where store and history disagree.

    Attributes:
        kind: `missing`: the store does not have it. `differs`: at `place`. `damaged`: the object cannot be read.
            `value lost`, `value damaged`: of the value at `place`. `unrecorded`: history does not have the checkpoint.
            `unknown`: history alone does not tell what the checkpoint must be.
        checkpoint_id: The checkpoint; empty where it is about the run as a whole.
        place: Such as `state['report']`, `messages[0].data` or `previous_checkpoint_id`; `index` before it where the
            index says otherwise than the checkpoint. Of the run, such as `run.ended` or `events 0 to 57`. Empty for the
            whole checkpoint.
        recorded: What history has there, as plain JSON; None where nothing.
        stored: What the store has there, as plain JSON; None where nothing.
        detail: More words, such as the store's own about a damaged object.
    """

    run_id: str
    kind: DifferenceKind
    checkpoint_id: str = ""
    place: str = ""
    recorded: Any = None
    stored: Any = None
    detail: str = ""

    def __str__(self) -> str:
        where = f"checkpoint {self.checkpoint_id}" if self.checkpoint_id else f"run {self.run_id}"
        at = f" at {self.place}" if self.place else ""
        text = f"{where}: {self.kind}{at}"
        if self.kind == "differs":
            text += f": history has {self.recorded!r}, the store {self.stored!r}"
        return f"{text}: {self.detail}" if self.detail else text


@dataclass(frozen=True, slots=True)
class Verified:
    """What differs between store and history, for the runs of a workflow id.

    Attributes:
        checkpoints: How many checkpoints history has, and were looked at.
        in_flight: Checkpoints that activities are writing now; history is to say yet whether they are.
        gone: The ids of runs that others went on from, and that the server has no more: what only their histories
            told could not be looked at.
    """

    workflow_id: str
    run_ids: tuple[str, ...]
    checkpoints: int
    differences: tuple[Difference, ...]
    in_flight: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


AdoptState = Literal["adopted", "would adopt", "completed", "ended", "open already", "not adoptable", "failed"]


@dataclass(frozen=True, slots=True)
class Adoption:
    """What became of one workflow id.

    Attributes:
        checkpoint_id: The head of the last run's lineage, where there is one. A session that was reset begins anew.
        run_id: Of the run that was started.
        reason: Why it was not adopted.
    """

    workflow_name: str
    workflow_id: str
    state: AdoptState
    checkpoint_id: str | None = None
    run_id: str | None = None
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.workflow_id} ({self.workflow_name}): {self.state}{f': {self.reason}' if self.reason else ''}"
