"""What the generic worker's command line says of factories and their errors (see `temporal_adapter.loading`)."""

from __future__ import annotations

from pathlib import Path

from temporal_adapter import loading
from temporal_adapter.loading import ObjectNotFound as FactoryNotFound
from temporal_adapter.loading import find_factory

__all__ = ["FactoryNotFound", "described", "find_factory"]

# Not the whole of `workers`: the example in it is a user's code like any other.
_OURS = (Path(__file__), Path(__file__).with_name("cli.py"))


def described(error: Exception) -> str:
    """Return an error of a user's code in one line: its type, message, and the line of theirs that led to it."""
    return loading.described(error, ours=_OURS)
