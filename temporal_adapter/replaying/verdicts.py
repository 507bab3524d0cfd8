"""What a replay comes to. Plain data; how it was found, and how it is shown, is not decided here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["replays", "diverges", "fails", "unreadable", "foreign"]
"""Of a history: this release would do the same (`replays`); something else (`diverges`); or it raises an error
(`fails`). The file has no history that could be replayed (`unreadable`). It is of a workflow that is not the
adapter's (`foreign`), and was not replayed."""

FAILING: tuple[Outcome, ...] = ("diverges", "fails", "unreadable")
"""Outcomes that keep a release back."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a release first does something else than a history has.

    Attributes:
        superstep: In which it is, or after which; None before the first, and of workflows that are not the adapter's.
            Of an executor in a sub-workflow, that sub-workflow's.
        executor: The path of the executor in question, such as `review/legal`; None where it is not an executor's work.
        event_id: Of the event that the release would not make; None where the history has nothing there.
        recorded: What the history has there, in words; None: nothing.
        issued: What this release would do there, in words; None: nothing.
        text: All of it, in one sentence.
    """

    superstep: int | None
    executor: str | None
    event_id: int | None
    recorded: str | None
    issued: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """One history, replayed or not.

    Attributes:
        workflow_id: Temporal's; of a file that tells none, the file's name.
        run_id: Temporal's; empty where the history does not tell.
        workflow_name: The MAF workflow's name, which is the Temporal workflow type; empty for an unreadable file.
        events: How many the history has.
        seconds: How long its replay took.
        outcome: What it came to.
        source: The file it is from; None: from a server, or given by a program.
        reason: Why it does not replay, in words; empty if it does.
        divergence: Where it first diverges, where that could be found.
        temporal: What Temporal's SDK says of it, for those who know its words; empty if it replays.
    """

    workflow_id: str
    run_id: str
    workflow_name: str
    events: int
    seconds: float
    outcome: Outcome
    source: str | None = None
    reason: str = ""
    divergence: Divergence | None = None
    temporal: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with it; also where it is none of ours."""
        return self.outcome not in FAILING

    def __str__(self) -> str:
        where = "" if self.source is None else f" ({self.source})"
        return f"{self.workflow_id}{where}: {self.outcome}{f': {self.reason}' if self.reason else ''}"


def failing(replayed: Sequence[Replayed]) -> list[Replayed]:
    """Return those that keep a release back, in order."""
    return [one for one in replayed if not one.ok]
