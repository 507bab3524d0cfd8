"""What a run showed, wherever it ran. Neither runs nor compares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agent_framework import WorkflowCheckpoint, WorkflowEvent


@dataclass(slots=True)
class Observed:
    """What a run showed.

    Attributes:
        events: Everything, across pauses.
        pauses: The pending requests, at each pause.
        checkpoints: The lineage, oldest first.
        error: Type name and message of the error the run failed with.
    """

    events: list[WorkflowEvent[Any]] = field(default_factory=list[WorkflowEvent[Any]])
    pauses: list[list[WorkflowEvent[Any]]] = field(default_factory=list[list[WorkflowEvent[Any]]])
    checkpoints: list[WorkflowCheckpoint] = field(default_factory=list[WorkflowCheckpoint])
    error: tuple[str, str] | None = None

    @property
    def outputs(self) -> list[Any]:
        """Payloads of the `output` events."""
        return [event.data for event in self.events if event.type == "output"]

    def outputs_after(self, iteration: int) -> list[Any]:
        """Payloads of the `output` events of all supersteps after this one."""
        current = 0
        outputs: list[Any] = []
        for event in self.events:
            if event.type == "superstep_started":
                current = event.iteration or 0
            elif event.type == "output" and current > iteration:
                outputs.append(event.data)
        return outputs


def lineage(checkpoints: Iterable[WorkflowCheckpoint]) -> list[WorkflowCheckpoint]:
    """Return the checkpoints of one lineage, oldest first, whatever the order they come in."""
    by_parent = {checkpoint.previous_checkpoint_id: checkpoint for checkpoint in checkpoints}
    ordered: list[WorkflowCheckpoint] = []
    head: str | None = None
    while head in by_parent:
        ordered.append(by_parent[head])
        head = ordered[-1].checkpoint_id
    assert len(ordered) == len(by_parent), "the checkpoints are not one lineage"
    return ordered
