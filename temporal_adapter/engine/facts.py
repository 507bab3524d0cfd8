"""What the engine can learn. A fact is recorded in Temporal history before the engine sees it."""

from __future__ import annotations

from dataclasses import dataclass

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

    `ticket` names them in the `Answer`; `whole` takes all of them or none.
    """

    ticket: int
    responses: tuple[wire.Response, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class ResponsesJudged:
    """The responses of the last `Judge` were coerced and routed, or refused."""

    result: wire.RespondResult


@dataclass(frozen=True, slots=True)
class Committed:
    """The last `Commit` ended; `stowed` refers to what it was to stow, in order."""

    outcome: wire.CommitOutcome
    stowed: tuple[wire.Value, ...] = ()


Fact = Seeded | InputRefused | DeliveryFinished | DeliveryFailed | ResponsesReceived | ResponsesJudged | Committed
