"""The blob store: checkpoints and large values, behind one URL.

What lives here: reading and writing objects, their names, and the check that what is read is what was written. What
must never be here: MAF, Temporal (save the payload codec that bytes pass), the meaning of a value, and any decision
about a run. From the bottom up:

    blobs        named bytes under one URL; `frame` is how a payload codec's bytes look
    seal, records   JSON objects that tell when they are damaged
    contents     objects named by their content, with `key` where a codec encodes; `pruning` keeps them from vanishing
    values       tagged JSON as such objects, large ones in `chunks`; `spill` decides what goes there
    forms        a checkpoint in one piece, or in `pages` and changes (`overlay`)
    checkpoints  the checkpoints of a namespace, with `index`, `runs`, `links` and `lineage`; `references` is what they
                 need

`names` has the names of all objects.
"""

from .blobs import BlobStore
from .checkpoints import CheckpointStore
from .errors import CodecNeeded, CorruptObject, MissingObject, StoreError
from .lineage import heads_of, lineage_order, youngest_head
from .links import Link, last_link, links_after
from .manifests import bare_manifest, with_entries
from .names import RECORDED_RANK, attempt_rank
from .overlay import as_changes, overlay, unstowed
from .spill import INLINE_BUDGET, INLINE_LIMIT, Spill
from .values import CACHE_BYTES, ValueStore

__all__ = [
    "CACHE_BYTES",
    "INLINE_BUDGET",
    "INLINE_LIMIT",
    "RECORDED_RANK",
    "BlobStore",
    "CheckpointStore",
    "CodecNeeded",
    "CorruptObject",
    "Link",
    "MissingObject",
    "Spill",
    "StoreError",
    "ValueStore",
    "as_changes",
    "attempt_rank",
    "bare_manifest",
    "heads_of",
    "last_link",
    "lineage_order",
    "links_after",
    "overlay",
    "unstowed",
    "with_entries",
    "youngest_head",
]
