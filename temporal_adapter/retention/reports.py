"""What a prune has to say. Small shapes for people's eyes; no I/O, and nothing decided."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kept:
    """A checkpoint that stays, and why."""

    checkpoint_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class PrunedWorkflow:
    """What becomes of the checkpoints of one workflow id.

    Attributes:
        states: Of its runs, sorted.
        deleted: Ids of those that go, parents first.
        kept: Those that stay, in the order of their lineage.
    """

    workflow_name: str
    workflow_id: str
    states: tuple[str, ...]
    deleted: tuple[str, ...]
    kept: tuple[Kept, ...]


@dataclass(frozen=True, slots=True)
class Swept:
    """How many objects go, and their bytes in the store."""

    objects: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune deleted; or would delete, for a dry run.

    Attributes:
        dry_run: Nothing was deleted.
        workflows: By workflow id, sorted.
        checkpoints: The objects of the checkpoints that go.
        values: Values and pages that nothing refers to. They are in one folder, by their content.
        chunks: Parts of large values.
        records: Further objects: entries of runs, index entries and marks.
        unreadable: Objects that are damaged, each with what is wrong. They are left alone.
    """

    dry_run: bool
    workflows: tuple[PrunedWorkflow, ...]
    checkpoints: Swept
    values: Swept
    chunks: Swept
    records: Swept
    unreadable: tuple[str, ...] = ()

    @property
    def deleted(self) -> tuple[str, ...]:
        """The ids of all checkpoints that go."""
        return tuple(one for workflow in self.workflows for one in workflow.deleted)

    @property
    def bytes(self) -> int:
        """The bytes of all objects that go."""
        return sum(one.bytes for one in (self.checkpoints, self.values, self.chunks, self.records))
