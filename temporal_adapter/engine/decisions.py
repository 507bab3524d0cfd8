"""What the engine can decide. Its owner carries each out and reports back by a fact, where one is named."""

from __future__ import annotations

from dataclasses import dataclass

from temporal_adapter import wire


@dataclass(frozen=True, slots=True)
class Deliver:
    """Run an executor; answer with `DeliveryFinished` or `DeliveryFailed`. `index` is unique in the run."""

    index: int
    input: wire.DeliveryInput


@dataclass(frozen=True, slots=True)
class Judge:
    """Coerce and route responses; answer with `ResponsesJudged`. One at a time."""

    input: wire.RespondInput


@dataclass(frozen=True, slots=True)
class Commit:
    """Write checkpoints to the blob store, retrying until it works; answer with `Committed`. One at a time."""

    input: wire.CommitInput


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one response: accepted into a checkpoint, or refused for a reason."""

    request_id: str
    refused: str | None = None
    checkpoint_id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Tell whoever sent the responses of this ticket; no fact follows."""

    ticket: int
    fates: tuple[Fate, ...]


@dataclass(frozen=True, slots=True)
class Notify:
    """Remind people of a request that waits, as was `due` at this time (ISO 8601, UTC); answer with `Notified`."""

    input: wire.NotifyInput
    due: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A session is at rest, or its input was refused; `failure` is what it failed with. No fact follows."""

    failure: wire.Failure | None


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over; no fact follows."""

    result: wire.RunResult


@dataclass(frozen=True, slots=True)
class Fail:
    """The run has failed: stop what is still running; no fact follows."""

    failure: wire.Failure


Decision = Deliver | Judge | Commit | Answer | Notify | TurnEnded | Finish | Fail
