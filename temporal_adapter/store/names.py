"""Names of objects in the blob store, and the ranks of competing writers. Pure functions; no I/O.

Layout:

    <namespace>/checkpoints/<checkpoint id>/<rank>.json               manifests
    <namespace>/workflows/<workflow name>/<workflow id>/<checkpoint id>   index entries
    <namespace>/discarded/<checkpoint id>/<run id>                    marks of checkpoints that never happened
    <namespace>/runs/<workflow name>/<workflow id>/<run id>           run entries
    <namespace>/values/<first 2 hex digits>/<digest>                  values, lists of pages, and pages
    <namespace>/chunks/<first 2 hex digits>/<digest>                  parts of large values
    <namespace>/key                                                   what names are made with, where a codec encodes
    <namespace>/pruning                                               mark of a prune that is at work

Ids come from users and from other systems, so each becomes one *segment*:

- Bytes of the UTF-8 form outside `A-Z a-z 0-9 _ -` are percent-encoded, so `../x` is `%2E%2E%2Fx`. What is left
  is plain for every store: no separator, no dot, nothing that is encoded once more.
- The empty id is `%`, which no other id can give.
- A segment above 200 characters is cut to 128, followed by `.` and the SHA-256 of the id in hex (file names end at
  255 bytes, and the local store appends to them while it writes). Only cut segments hold a dot, so the two forms
  never meet. A cut segment cannot be decoded: who needs the id reads it from the object.

Different ids have different segments. On a file system that ignores case, ids that differ only in case share
a file; readers compare the id in the object and so report it.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime, timedelta, timezone
from urllib.parse import unquote_to_bytes

_LONGEST_SEGMENT = 200
_KEPT_OF_LONG_SEGMENT = 128
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LARGEST_ATTEMPT = 999_999
_RANK = re.compile(r"a\d{20}-\d{6}|r")
_DIGEST = re.compile(r"[0-9a-f]{64}")

RECORDED_RANK = "r"
"""Rank of a checkpoint made from recorded history. It sorts above the rank of every attempt."""


def segment(identifier: str) -> str:
    """Return the one path segment that stands for an id; see the module docstring for the encoding."""
    raw = identifier.encode("utf-8", "surrogatepass")
    encoded = "".join(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in raw) or "%"
    if len(encoded) <= _LONGEST_SEGMENT:
        return encoded
    return f"{encoded[:_KEPT_OF_LONG_SEGMENT]}.{hashlib.sha256(raw).hexdigest()}"


def identifier(encoded: str) -> str | None:
    """Return the id that a segment stands for; None when the segment was cut, so that only the object tells."""
    if encoded == "%":
        return ""
    return None if "." in encoded else unquote_to_bytes(encoded).decode("utf-8", "surrogatepass")


def attempt_rank(started: datetime, attempt: int) -> str:
    """Return the rank under which an activity attempt writes its own outcome; a later attempt sorts higher.

    Args:
        started: When the attempt started, with a time zone (Temporal's `activity.info().started_time`).
        attempt: Temporal's attempt number, from 1. It decides only between attempts of the same microsecond.

    Raises:
        ValueError: `started` has no time zone or is before 1970, or `attempt` is below 1.
    """
    if started.tzinfo is None:
        raise ValueError(f"The start of an attempt needs a time zone, got {started!r}.")
    microseconds = (started - _EPOCH) // timedelta(microseconds=1)
    if microseconds < 0 or attempt < 1:
        raise ValueError(
            f"Attempt {attempt} started at {started!r} has no rank: expected 1970 or later, and 1 or more."
        )
    return f"a{microseconds:020d}-{min(attempt, _LARGEST_ATTEMPT):06d}"


def discarded_object(namespace: str, checkpoint_id: str, run_id: str) -> str:
    """Return the name of the mark that a checkpoint never happened in a run, whoever of it may still write it."""
    return f"{discarded_prefix(namespace, checkpoint_id)}/{segment(run_id)}"


def discarded_prefix(namespace: str, checkpoint_id: str | None = None) -> str:
    """Return the prefix under which these marks are, of all checkpoints or of one."""
    prefix = f"{segment(namespace)}/discarded"
    return prefix if checkpoint_id is None else f"{prefix}/{segment(checkpoint_id)}"


def manifest_prefix(namespace: str, checkpoint_id: str) -> str:
    """Return the prefix under which all writers of a checkpoint write."""
    return f"{segment(namespace)}/checkpoints/{segment(checkpoint_id)}"


def manifest_object(namespace: str, checkpoint_id: str, rank: str) -> str:
    """Return the name of the manifest that the writer of this rank writes.

    Raises:
        ValueError: `rank` is neither from `attempt_rank` nor `RECORDED_RANK`.
    """
    if not _RANK.fullmatch(rank):
        raise ValueError(f"{rank!r} is not a rank; use attempt_rank(started, attempt) or RECORDED_RANK.")
    return f"{manifest_prefix(namespace, checkpoint_id)}/{rank}.json"


def index_prefix(namespace: str, workflow_name: str, workflow_id: str | None = None) -> str:
    """Return the prefix of the index entries of a workflow, or of one of its workflow ids."""
    prefix = f"{segment(namespace)}/workflows/{segment(workflow_name)}"
    return prefix if workflow_id is None else f"{prefix}/{segment(workflow_id)}"


def index_object(namespace: str, workflow_name: str, workflow_id: str, checkpoint_id: str) -> str:
    """Return the name of a checkpoint's index entry."""
    return f"{index_prefix(namespace, workflow_name, workflow_id)}/{segment(checkpoint_id)}"


def whole_index_prefix(namespace: str) -> str:
    """Return the prefix of all index entries of a namespace."""
    return f"{segment(namespace)}/workflows"


def run_prefix(namespace: str, workflow_name: str | None = None, workflow_id: str | None = None) -> str:
    """Return the prefix of the run entries of a namespace, of a workflow, or of one of its workflow ids."""
    prefix = f"{segment(namespace)}/runs"
    for part in (workflow_name, workflow_id):
        if part is None:
            break
        prefix = f"{prefix}/{segment(part)}"
    return prefix


def run_object(namespace: str, workflow_name: str, workflow_id: str, run_id: str) -> str:
    """Return the name of a run's entry."""
    return f"{run_prefix(namespace, workflow_name, workflow_id)}/{segment(run_id)}"


def key_object(namespace: str) -> str:
    """Return the name of the key that names are made with where a payload codec encodes contents."""
    return f"{segment(namespace)}/key"


def pruning_object(namespace: str) -> str:
    """Return the name of the mark that a prune is at work."""
    return f"{segment(namespace)}/pruning"


def value_object(namespace: str, digest: str) -> str:
    """Return the name of a value.

    Raises:
        ValueError: `digest` is not a SHA-256 in lower-case hex.
    """
    return _by_digest(namespace, "values", digest)


def chunk_object(namespace: str, digest: str) -> str:
    """Return the name of a part of a large value.

    Raises:
        ValueError: `digest` is not a SHA-256 in lower-case hex.
    """
    return _by_digest(namespace, "chunks", digest)


def _by_digest(namespace: str, folder: str, digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"{digest!r} is not a value's digest: expected 64 lower-case hex digits.")
    return f"{segment(namespace)}/{folder}/{digest[:2]}/{digest}"
