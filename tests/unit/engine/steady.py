"""Owners whose moves follow from what the run shows alone, so that it goes the same way with and without leaving.

What is no delivery, such as a commit or a judgement, is done at once; so responses and the like come while deliveries
run or while the run is at rest, and never while it is held. Leaving has dice of its own.
"""

from __future__ import annotations

from random import Random
from typing import Any

from temporal_adapter import wire
from temporal_adapter.engine import Decision, Phase, TurnEnded

from .cancelling import CancellingOwner, CancellingSession
from .owner import Manner, Owner
from .scripted import Script


class _Steady(Owner):
    """What both owners do."""

    _moves = 0

    def step(self) -> bool:
        # What the last superstep left undone comes first, then leaving, and then what may happen in either run.
        at_once = sorted(name for name in self.running if not name.startswith("delivery"))
        if at_once:
            self.make(at_once[0])
            return True
        if self._may_leave():
            self.make("leave")
            return True
        self._moves += 1
        self.dice = Random(f"{self.script.seed} {self._moves}")
        return super().step()

    def moves_of_the_world(self) -> list[str]:
        return [one for one in super().moves_of_the_world() if one != "leave"]

    def make(self, move: str) -> None:
        if move.startswith("delivery"):  # counted anew in each Temporal run, but in the same order
            names = sorted(self.running, key=lambda name: int(name.removeprefix("delivery ")))
            move = self.dice.choice(names)
        super().make(move)


class SteadyRun(_Steady, CancellingOwner):
    """One run under way."""


class SteadySession(_Steady, CancellingSession):
    """One session under way."""

    def _carry_all(self, decisions: list[Decision]) -> None:
        self.turn_ends = [*getattr(self, "turn_ends", []), *(one for one in decisions if isinstance(one, TurnEnded))]
        super()._carry_all(decisions)


def run(kind: type[Owner], script: Script, *, leaving: float, junk: int, deadlines: int) -> Owner:
    """Run to the end, or to a pause that nobody answers."""
    owner = kind(script, Random(0), Manner(junk=junk, leaving=leaving, deadlines=deadlines))
    owner.leaving_dice = Random(f"{script.seed} leaves")
    return owner.run()


def shown(owner: Owner) -> dict[str, Any]:
    """Return all that a run has shown: to its callers, to people, and in the blob store."""
    engine = owner.engine
    return {
        "events": owner.events,
        "outputs": owner.outputs,
        # A session that goes back to one of its own checkpoints lists that again where the store has its first entry.
        "headers": list({one.checkpoint_id: one for one in owner.headers}.values()),
        "checkpoints": {key: owner.blobs.moment(key) for key in owner.blobs.checkpoints},
        "trail": [wire.replace(one, at=None) if one.outcome == "refused" else one for one in owner.trail],
        "answers": owner.answers,
        "reminded": [(one.request_id, one.asked_at, number, due) for one, number, due in owner.reminded],
        "turns": getattr(owner, "turn_ends", None),
        "conclusion": type(owner.conclusion),
        "failure": getattr(owner.conclusion, "failure", None),
        "ended": engine.phase in (Phase.ENDING, Phase.ENDED),
        "status": engine.status(),
        "progress": engine.progress(),
        "pending": engine.pending_requests(),
        "due": engine.next_due(),
    }
