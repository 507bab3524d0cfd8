"""What the engine can learn. A fact is recorded in Temporal history before the engine sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from temporal_adapter import wire


@dataclass(frozen=True, slots=True)
class Seeded:
    """The input was accepted, the graph recorded, and the entry checkpoint written or not."""

    result: wire.SeedResult


@dataclass(frozen=True, slots=True)
class InputRefused:
    """The input of a session, or the checkpoint it was to go on from, could not be seeded."""

    failure: wire.Failure


@dataclass(frozen=True, slots=True)
class DeliveryFinished:
    """An executor handled its delivery."""

    index: int
    result: wire.DeliveryResult


@dataclass(frozen=True, slots=True)
class DeliveryFailed:
    """An executor's last attempt failed."""

    index: int
    failure: wire.Failure


@dataclass(frozen=True, slots=True)
class ResponsesReceived:
    """Responses arrived, in one signal or update.

    `ticket` names them in the `Answer`, 0 where nobody is to be told; `whole` takes all of them or none; `state` is
    the shared state that is set where one is accepted: run kwargs that came along.
    """

    ticket: int
    responses: tuple[wire.Response, ...]
    whole: bool = False
    source: Literal["person", "deadline"] = "person"
    state: Mapping[str, wire.Value] = field(default_factory=dict[str, wire.Value])


@dataclass(frozen=True, slots=True)
class ResponsesJudged:
    """The responses of the last `Judge` were coerced and routed, or refused."""

    result: wire.RespondResult


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Requests are to be cancelled: all of them, or none. `ticket` names this in the `Answer`, 0 where nobody is told.

    Tickets count up, with those of responses: what came earlier is judged first.
    """

    ticket: int
    asked: wire.CancelRequests
    source: Literal["person", "deadline"] = "person"


@dataclass(frozen=True, slots=True)
class Committed:
    """The last `Commit` ended; `stowed` refers to what it was to stow, in order."""

    outcome: wire.CommitOutcome
    stowed: tuple[wire.Value, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeReached:
    """An instant that `Engine.next_due` named has passed."""

    at: str


@dataclass(frozen=True, slots=True)
class Notified:
    """The last `Notify` for a request ended; `at` is when, or where nobody could be reminded, when it was due."""

    request: wire.Request
    at: str


@dataclass(frozen=True, slots=True)
class Stranded:
    """A delivery meets workers only that have another graph, and can migrate the run to it."""

    index: int


@dataclass(frozen=True, slots=True)
class JudgementStranded:
    """The last `Judge` met such a worker."""


@dataclass(frozen=True, slots=True)
class JudgementFailed:
    """The last `Judge` met a worker that fails runs of other graphs than its own."""

    failure: wire.Failure


@dataclass(frozen=True, slots=True)
class InputStranded:
    """The input of a session met such a worker."""


@dataclass(frozen=True, slots=True)
class WentOn:
    """The run goes on as this Temporal run, from what another carried over (`Engine.go_on`)."""

    result: wire.CarryOnResult


Fact = (
    Seeded
    | InputRefused
    | DeliveryFinished
    | DeliveryFailed
    | ResponsesReceived
    | ResponsesJudged
    | CancelRequested
    | Committed
    | TimeReached
    | Notified
    | WentOn
    | Stranded
    | JudgementStranded
    | JudgementFailed
    | InputStranded
)
