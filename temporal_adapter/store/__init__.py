"""The blob store: checkpoints and large values, behind one URL.

What lives here: reading and writing objects, their names, and the check that what is read is what was written. What
must never be here: MAF, Temporal, the meaning of a value, and any decision about a run.
"""

from .blobs import BlobStore
from .checkpoints import CheckpointStore
from .errors import CorruptObject, MissingObject, StoreError
from .lineage import lineage_order
from .names import RECORDED_RANK, attempt_rank
from .overlay import overlay, unstowed
from .spill import INLINE_BUDGET, INLINE_LIMIT, Spill
from .values import CACHE_BYTES, ValueStore

__all__ = [
    "CACHE_BYTES",
    "INLINE_BUDGET",
    "INLINE_LIMIT",
    "RECORDED_RANK",
    "BlobStore",
    "CheckpointStore",
    "CorruptObject",
    "MissingObject",
    "Spill",
    "StoreError",
    "ValueStore",
    "attempt_rank",
    "lineage_order",
    "overlay",
    "unstowed",
]
