"""Retention: which checkpoints may go, and what goes with them.

A prune deletes checkpoints by age, count and the state of their runs, then all objects that nothing refers to any more.
It never takes what a run that is open may need. From the top down:

    prunes       the prune itself, in order; `reports` is what it has to say
    policy       which checkpoints go (pure)
    needs        what open runs need, and what histories refer to; `runs` asks the server, `histories` reads
    survey       what the store has; `sweeping` finds what nothing refers to
    mark         keeps writers and other prunes out of the way, by the protocol of `store.pruning`

What must not be here: MAF, user code, and the making of checkpoints.
"""

from .histories import HistoryUnreadable
from .mark import PruneRefused
from .policy import CLOSED, STATES, RunState
from .prunes import prune, prune_offline
from .reports import Kept, Pruned, PrunedWorkflow, Swept

__all__ = [
    "CLOSED",
    "STATES",
    "HistoryUnreadable",
    "Kept",
    "PruneRefused",
    "Pruned",
    "PrunedWorkflow",
    "RunState",
    "Swept",
    "prune",
    "prune_offline",
]
