"""JSON objects that can be checked on their own: the last field, `sha256`, is the digest of all before it.

A reader that knows an object by name only, without a digest, still learns when the object is damaged. The
result is ordinary JSON, for `jq` and for people.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

_FIELD = b',"sha256":"%s"}'
_LENGTH = len(_FIELD % (b"0" * 64))


def seal(fields: dict[str, Any]) -> bytes:
    """Return fields (at least one, none called `sha256`) as sealed JSON."""
    body = json.dumps(fields, separators=(",", ":")).encode("ascii")
    return body[:-1] + _closing(body)


def unseal(data: bytes) -> Any:
    """Return the fields of sealed JSON, without the seal.

    Raises:
        ValueError: The data is not sealed JSON, or was changed since it was sealed.
    """
    body = data[:-_LENGTH] + b"}"
    if data[-_LENGTH:] != _closing(body):
        raise ValueError("its content does not have the digest at its end")
    return json.loads(body)


def _closing(body: bytes) -> bytes:
    return _FIELD % hashlib.sha256(body).hexdigest().encode("ascii")
