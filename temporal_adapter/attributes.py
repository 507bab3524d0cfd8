"""What handlers changed of executors' attributes: where an executor has no checkpoint hooks, it travels with the run.

An attribute that the codec cannot encode (a client, a lock, a model) is kept by identity. If a handler of an executor
without hooks rebinds it, or changes such an object of the user's own in place, that is an error: the change could not
travel.

Where an executor has hooks and its `on_checkpoint_save` raises, its attributes travel in their stead.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_framework import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
)

from temporal_adapter.values import Codec, EncodeError

_UNCHANGING = (type(None), bool, int, float, complex, str, bytes, type, types.FunctionType, types.BuiltinFunctionType)


class _Plain(Executor):
    """An executor with nothing of its own: its attributes are the framework's."""

    @handler
    async def handle(self, message: str, ctx: WorkflowContext) -> None:
        """Do nothing."""


FRAMEWORK_ATTRIBUTES = frozenset(vars(_Plain(id="plain")))
"""Names of executors' attributes that are MAF's own affair."""


def overrides_hooks(executor: Executor) -> bool:
    """Whether an executor's class overrides a checkpoint hook: then its state travels by them, and only by them."""
    cls = type(executor)
    maf = WorkflowExecutor if isinstance(executor, WorkflowExecutor) else Executor
    return (
        cls.on_checkpoint_save is not maf.on_checkpoint_save
        or cls.on_checkpoint_restore is not maf.on_checkpoint_restore
    )


@functools.cache
def _attributes_of_wrapper() -> frozenset[str]:
    """Names of the attributes that MAF's `WorkflowExecutor` has of its own."""
    return frozenset(vars(WorkflowExecutor(WorkflowBuilder(start_executor=_Plain(id="plain")).build(), id="wraps")))


def _is_mafs(executor: Executor, name: str) -> bool:
    return name in FRAMEWORK_ATTRIBUTES or (isinstance(executor, WorkflowExecutor) and name in _attributes_of_wrapper())


@dataclass(frozen=True, slots=True)
class _Built:
    """An attribute when built."""

    value: Any
    encoded: Any = None  # None: of an executor with hooks, whose attributes are not looked at unless these fail
    opaque: bool = False  # it cannot be encoded


class Attributes:
    """The attributes of one executor of one built graph, captured before anything ran."""

    def __init__(self, executor: Executor, codec: Codec) -> None:
        self._executor = executor
        self._codec = codec
        self._travels = not overrides_hooks(executor)
        self._restored = False
        self._changed: Callable[[Any], bool] = lambda _: False
        self._built = {
            name: self._capture(name, value) if self._travels else _Built(value)
            for name, value in vars(executor).items()
            if not _is_mafs(executor, name)
        }

    def watch(self, changed: Callable[[Any], bool]) -> None:
        """From now on, ask whether an object that cannot be encoded was changed in place."""
        self._changed = changed

    def forget(self) -> None:
        """Another attempt begins, on attributes as they were when built."""
        self._restored = False

    def restore(self, recorded: Any) -> None:
        """Set the changes that `changes` returned in an earlier activity."""
        present = vars(self._executor)
        for name in recorded["deleted"]:
            present.pop(name, None)
        for name, encoded in recorded["changed"].items():
            present[name] = self._codec.decode(encoded)
        self._restored = True

    def changes(self) -> Any:
        """Return what differs from when built, in tagged JSON; None if nothing does, or if hooks carry the state.

        Raises:
            EncodeError: A changed attribute cannot be encoded; names it.
        """
        if not self._travels:  # what was recorded when a hook failed is void, now that one did not
            return {"changed": {}, "deleted": []} if self._restored else None
        return self._differences()

    def in_stead_of_hooks(self) -> Any:
        """Return the same of an executor whose hooks fail: all that can be encoded and may have changed.

        Raises:
            EncodeError: An attribute that changed cannot be encoded; names it.
        """
        return self._differences() or {"changed": {}, "deleted": []}

    def _differences(self) -> Any:
        present = {name: value for name, value in vars(self._executor).items() if not _is_mafs(self._executor, name)}
        changed: dict[str, Any] = {}
        for name, value in present.items():
            built = self._built.get(name)
            if built is not None and built.value is value and (built.opaque or isinstance(value, _UNCHANGING)):
                self._check_opaque(name, built)
                continue
            try:
                encoded = self._codec.encode(value, name)
            except EncodeError:
                if built is None or built.value is not value or self._travels:
                    raise
                self._check_opaque(name, built)
                continue
            if built is None or built.opaque or encoded != built.encoded:
                changed[name] = encoded
        deleted = [name for name in self._built if name not in present]
        # What was recorded before holds until something else is: also where all is as built again.
        return {"changed": changed, "deleted": deleted} if changed or deleted or self._restored else None

    def _capture(self, name: str, value: Any) -> _Built:
        try:
            return _Built(value, self._codec.encode(value, name))
        except EncodeError:  # a client, a lock, a model
            return _Built(value, opaque=True)

    def _check_opaque(self, name: str, built: _Built) -> None:
        if self._changed(built.value):
            raise EncodeError(
                f"{name}: the handler changed this {type(built.value).__qualname__} in place, and it cannot be encoded "
                "to travel with the run. Override on_checkpoint_save and on_checkpoint_restore to carry it, or give "
                "its class to AgentFrameworkPlugin(types=[...])."
            )
