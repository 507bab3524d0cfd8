"""Store and history, each from the other: rebuild what the blob store lost, compare the two, start open runs again.

Temporal's history is the log, the blob store holds the snapshots; either can be lost. What a run's checkpoints must be
follows from its history alone, by replaying it. MAF and the user's code take no part in any of this.
"""

from .adopting import adopt
from .expected import Checkpoint, Expected, Stowed, Unknown, expected
from .observing import NotReplayable
from .rebuilding import rebuild
from .reports import Adoption, Difference, LostValue, NotRebuilt, Rebuilt, RebuiltRun, Verified
from .runs import RunNotOnServer
from .verifying import verify

__all__ = [
    "Adoption",
    "Checkpoint",
    "Difference",
    "Expected",
    "LostValue",
    "NotRebuilt",
    "NotReplayable",
    "Rebuilt",
    "RebuiltRun",
    "RunNotOnServer",
    "Stowed",
    "Unknown",
    "Verified",
    "adopt",
    "expected",
    "rebuild",
    "verify",
]
