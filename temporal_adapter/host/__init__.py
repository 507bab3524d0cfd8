"""The activities: the only place, with `routing` and `pool` below, where MAF and user code run.

    seed      accepts the input and writes the entry checkpoint
    deliver   gives an executor one delivery, routes what it sent, and writes its checkpoint
    respond   judges responses and writes the response-entry checkpoint
    commit    writes checkpoints that no delivery could

An activity takes one wire shape and returns one. It keeps nothing between calls but caches and pooled graphs. What an
attempt did that failed leaves no trace in the run: its outcome is its result, and it had none.
"""

from .activities import activities
from .context import Host, OnFailure
from .heartbeat import HEARTBEAT_THROTTLE
from .strangers import has_dynamic, stranger_activity

__all__ = ["HEARTBEAT_THROTTLE", "Host", "OnFailure", "activities", "has_dynamic", "stranger_activity"]
