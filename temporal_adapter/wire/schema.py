"""Shapes to JSON and back, with the schema version. Knows no shape by name."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import threading
from importlib import metadata
from typing import Any, TypeVar, cast

import msgspec

SCHEMA_VERSION = 1
"""Of all shapes. A later one is the number of the release that brings it: 10203 in 1.2.3."""

VERSION_KEY = "v"

ShapeT = TypeVar("ShapeT")

_PREPARING = threading.Lock()


class WireError(ValueError):
    """JSON that is not the shape it should be, or is of a schema version this release cannot read."""


class NewerSchema(WireError):
    """JSON of a newer schema version than this release reads: a newer release reads it, so it is worth waiting for."""


@functools.cache
def release() -> str:
    """Return the version of agent-framework-temporal that this process runs."""
    try:
        return metadata.version("agent-framework-temporal")
    except metadata.PackageNotFoundError:  # used from a source tree that is not installed
        return "unknown"


def dump(shape: msgspec.Struct) -> dict[str, Any]:
    """Return the JSON form of a shape: plain dicts, lists and scalars, with the schema version under `v`."""
    return {VERSION_KEY: SCHEMA_VERSION, **cast("dict[str, Any]", msgspec.to_builtins(shape))}


def load(shape: type[ShapeT], data: Any) -> ShapeT:
    """Read a shape from its JSON form.

    Fields this release does not know are ignored, so that a release may add optional ones.

    Raises:
        NewerSchema: The data is of a newer schema version; says which releases read it.
        WireError: The data does not have the shape.
    """
    if isinstance(data, dict):
        _check_version(shape.__name__, cast("dict[str, Any]", data).get(VERSION_KEY, SCHEMA_VERSION))
    prepare(shape)
    try:
        return msgspec.convert(data, shape)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the second of a lone surrogate in a name
        raise WireError(f"{shape.__name__} cannot be read: {error}") from error


@functools.cache
def prepare(shape: type[Any]) -> None:
    """Have msgspec look at a shape's annotations: two threads that do that at once would crash the process."""
    with _PREPARING, contextlib.suppress(msgspec.ValidationError):
        msgspec.convert({}, shape)


def _check_version(name: str, version: Any) -> None:
    if not isinstance(version, int):
        raise WireError(f"{name} cannot be read: its schema version is {version!r}, and no number.")
    if version > SCHEMA_VERSION:
        raise NewerSchema(
            f"{name} was written by a newer release of agent-framework-temporal (schema version {version}). This is "
            f"release {release()}, which reads schema versions up to {SCHEMA_VERSION}. Upgrade this process to "
            f"{_release_of(version)}."
        )


def _release_of(version: int) -> str:
    """Return which releases read a schema version."""
    major, minor, patch = version // 10_000, version // 100 % 100, version % 100
    named = version >= 100
    return f"release {major}.{minor}.{patch} or a newer one" if named else "the release that wrote it, or a newer one"


def replace(shape: ShapeT, **fields: Any) -> ShapeT:
    """Return a shape with other values for some fields."""
    return cast("ShapeT", msgspec.structs.replace(cast("Any", shape), **fields))


def to_bytes(data: Any) -> bytes:
    """Return JSON data as text: keys in their order, no white space, ASCII (so that lone surrogates pass)."""
    return json.dumps(data, separators=(",", ":")).encode("ascii")


def encodable(text: str) -> str:
    """Return a text with its lone surrogates escaped: Temporal's own fields, such as a message, cannot have them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def fingerprint(data: Any) -> str:
    """Return the SHA-256 (hex) of JSON data that is the same in whichever order keys come."""
    return digest(json.dumps(data, sort_keys=True, separators=(",", ":")).encode("ascii"))
