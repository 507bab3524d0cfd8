"""Executors' attributes: as they were when the graph was built, and what a handler changed of them.

Two uses. Before a pooled graph serves again, the attributes of executors that ran are put back, so that nothing leaks
between attempts, runs or tenants. And for an executor that overrides neither checkpoint hook, what its handler changed
travels with the run.

An attribute that the codec cannot encode (a client, a lock, a model) is kept by identity. If a handler of an executor
without hooks rebinds or visibly changes such an attribute, that is an error: the change could not travel.
"""

from __future__ import annotations

import copy
import pickle
import types
from dataclasses import dataclass
from typing import Any

from agent_framework import Executor, WorkflowContext, handler

from temporal_adapter.values import Codec, EncodeError

_UNCHANGING = (type(None), bool, int, float, complex, str, bytes, type, types.FunctionType, types.BuiltinFunctionType)


class _Plain(Executor):
    """An executor with nothing of its own: its attributes are the framework's."""

    @handler
    async def handle(self, message: str, ctx: WorkflowContext) -> None:
        """Do nothing."""


_FRAMEWORK_ATTRIBUTES = frozenset(vars(_Plain(id="plain")))


def overrides_hooks(executor: Executor) -> bool:
    """Whether an executor's class overrides a checkpoint hook: then its state travels by them, and only by them."""
    cls = type(executor)
    return (
        cls.on_checkpoint_save is not Executor.on_checkpoint_save
        or cls.on_checkpoint_restore is not Executor.on_checkpoint_restore
    )


@dataclass(frozen=True, slots=True)
class _Built:
    """An attribute when built."""

    value: Any  # a copy, if it can be encoded; otherwise the object itself
    encoded: Any = None
    opaque: bool = False
    pickled: bytes | None = None  # of an opaque object, to notice that it was changed in place


class Attributes:
    """The attributes of one executor of one built graph, captured before anything ran."""

    def __init__(self, executor: Executor, codec: Codec) -> None:
        self._executor = executor
        self._codec = codec
        self._travels = not overrides_hooks(executor)
        self._built = {
            name: self._capture(name, value)
            for name, value in vars(executor).items()
            if name not in _FRAMEWORK_ATTRIBUTES
        }

    def put_back(self) -> None:
        """Make the attributes what they were when built."""
        present = vars(self._executor)
        for name in [name for name in present if name not in _FRAMEWORK_ATTRIBUTES and name not in self._built]:
            del present[name]
        for name, built in self._built.items():
            present[name] = built.value if built.opaque else copy.deepcopy(built.value)

    def restore(self, recorded: Any) -> None:
        """Set the changes that `changes` returned in an earlier activity."""
        present = vars(self._executor)
        for name in recorded["deleted"]:
            present.pop(name, None)
        for name, encoded in recorded["changed"].items():
            present[name] = self._codec.decode(encoded)

    def changes(self) -> Any:
        """Return what differs from when built, in tagged JSON; None if nothing does, or if hooks carry the state.

        Raises:
            EncodeError: A changed attribute cannot be encoded; names it.
        """
        if not self._travels:
            return None
        present = {name: value for name, value in vars(self._executor).items() if name not in _FRAMEWORK_ATTRIBUTES}
        changed: dict[str, Any] = {}
        for name, value in present.items():
            built = self._built.get(name)
            if built is not None and built.value is value and (built.opaque or isinstance(value, _UNCHANGING)):
                self._check_opaque(name, built)
                continue
            encoded = self._codec.encode(value, name)
            if built is None or built.opaque or encoded != built.encoded:
                changed[name] = encoded
        deleted = [name for name in self._built if name not in present]
        return {"changed": changed, "deleted": deleted} if changed or deleted else None

    def _capture(self, name: str, value: Any) -> _Built:
        if isinstance(value, _UNCHANGING):
            # Shared as it is; encoded only where a change would have to be told from it.
            return _Built(value, self._encoded_or_none(name, value))
        try:
            encoded = self._codec.encode(value, name)  # first: a client that cannot travel is not copied either
            return _Built(copy.deepcopy(value), encoded)
        except Exception:  # neither the codec nor copy can take it: a client, a lock, a model
            return _Built(value, opaque=True, pickled=_pickled(value) if self._travels else None)

    def _encoded_or_none(self, name: str, value: Any) -> Any:
        try:
            return self._codec.encode(value, name)
        except EncodeError:
            return None

    def _check_opaque(self, name: str, built: _Built) -> None:
        if built.pickled is not None and _pickled(built.value) != built.pickled:
            raise EncodeError(
                f"{name}: the handler changed this {type(built.value).__qualname__} in place, and it cannot be encoded "
                "to travel with the run. Override on_checkpoint_save and on_checkpoint_restore to carry it, or "
                "register its type with agent_framework.register_checkpoint_type."
            )


def _pickled(value: Any) -> bytes | None:
    try:
        return pickle.dumps(value)
    except Exception:
        return None
