"""The superstep state machine: facts in, decisions out.

Theory of operation
===================

A run is a sequence of *supersteps*. Before each, the messages in flight are turned into *deliveries* by the
routes that were recorded when the messages were sent; the deliveries run; their outcomes are merged in delivery
order; a *checkpoint* is recorded. A run with no message in flight is idle: it waits while requests are pending,
and ends when none is.

    SEEDING -> RUNNING <-> PAUSED
                  |           |
                  +-> ENDING -+-> ENDED        (ENDING: waits until the blob store has every checkpoint)

A *session* is a run that is kept open for many inputs: where another run ends, it is IDLE, and the next input is seeded
from there (SEEDING again). An error ends its turn, not the run. A run can be *restored*: it begins at a checkpoint of
another run, or of its own, instead of at an input.

Requests can be *cancelled*: their executors are told by deliveries without messages, which are a superstep of their own
that is not counted; a checkpoint follows, and then the next superstep, even where no message is in flight.

A run may *leave* between supersteps and at rest, to go on as another Temporal run with an empty history: the next
superstep is *held* until the store has all, and everything the engine knows is carried over.

The engine learns what happened by *facts* (`facts`) and answers each with *decisions* (`decisions`) that its owner
carries out. It works on ids and opaque `wire.Value`s only.

Rules for this folder: no I/O, no clock, no randomness, no asyncio, no Temporal, no MAF. Ids and timestamps come from
the owner (`Stamp`). The same facts give the same decisions, in every process and Python version: no iteration over
sets, no `hash()`.
"""

from .deadlines import expires_at
from .decisions import Answer, Commit, Decision, Deliver, Fail, Fate, Finish, Judge, Notify, TurnEnded
from .facts import (
    CancelRequested,
    Committed,
    DeliveryFailed,
    DeliveryFinished,
    Fact,
    InputRefused,
    InputStranded,
    JudgementFailed,
    JudgementStranded,
    Notified,
    ResponsesJudged,
    ResponsesReceived,
    Seeded,
    Stranded,
    TimeReached,
    WentOn,
)
from .machine import Engine, SessionRefused
from .recorder import Stamp
from .run import Phase

__all__ = [
    "Answer",
    "CancelRequested",
    "Commit",
    "Committed",
    "Decision",
    "Deliver",
    "DeliveryFailed",
    "DeliveryFinished",
    "Engine",
    "Fact",
    "Fail",
    "Fate",
    "Finish",
    "InputRefused",
    "InputStranded",
    "Judge",
    "JudgementFailed",
    "JudgementStranded",
    "Notified",
    "Notify",
    "Phase",
    "ResponsesJudged",
    "ResponsesReceived",
    "Seeded",
    "SessionRefused",
    "Stamp",
    "Stranded",
    "TimeReached",
    "TurnEnded",
    "WentOn",
    "expires_at",
]
