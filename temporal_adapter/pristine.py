"""A built graph's objects, put back as they were when it was built, so that nothing leaks between attempts or runs.

What is remembered of each object is what it held, by reference: putting back undoes changes where they were made, and
whatever shared an object shares it still. That goes for executors' attributes, the containers in them, and instances of
MAF's classes and the user's own: managers, ledgers, agents. It does not go for

- chat clients and objects of libraries, such as connections: they belong to the process, and a state that was put back
  under them would be none they know;
- objects that two builds of the graph have in common: they are not this graph's.
"""

from __future__ import annotations

import collections
import functools
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from agent_framework import BaseChatClient, Executor, Workflow

_CONTAINERS = (list, dict, set, collections.deque)
_FROZEN = (tuple, frozenset)
_BELONGS_ELSEWHERE = (BaseChatClient, Workflow, Executor, type)


class Pristine:
    """The objects of one built graph, as they are now.

    Args:
        executors: Of the graph and its sub-workflows.
        framework_attributes: Names of executors' attributes that are MAF's own affair.
        own: Modules whose classes are the user's own, beside those of the executors and all that no library brings.
        shared: Objects to leave alone.
    """

    def __init__(
        self,
        executors: Sequence[Executor],
        framework_attributes: frozenset[str],
        *,
        own: Iterable[str] = (),
        shared: Iterable[Any] = (),
    ) -> None:
        modules = [*own, *(cls.__module__ for one in executors for cls in type(one).__mro__)]
        self._own = {"agent_framework", *map(_package, modules)} - sys.stdlib_module_names
        self._seen = {id(one): one for one in shared}
        self._undo: list[Callable[[], None]] = []
        self.objects: list[Any] = []
        """What is put back, apart from executors."""
        for executor in executors:
            self._remember_executor(executor, framework_attributes)

    def put_back(self) -> None:
        """Undo every change since."""
        for undo in self._undo:
            undo()

    def _remember_executor(self, executor: Executor, framework_attributes: frozenset[str]) -> None:
        held = {name: value for name, value in vars(executor).items() if name not in framework_attributes}
        self._undo.append(lambda: _put_back_attributes(vars(executor), held, framework_attributes))
        for value in held.values():
            self._remember(value)

    def _remember(self, value: Any) -> None:
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if id(one) in self._seen or not self._is_looked_into(one):
                continue
            self._seen[id(one)] = one
            waiting.extend(self._contents(one))

    def _is_looked_into(self, value: Any) -> bool:
        if isinstance(value, (*_CONTAINERS, *_FROZEN)):
            return True
        package = _package(value.__class__.__module__)
        return (package in self._own or not _is_library(package)) and not isinstance(value, _BELONGS_ELSEWHERE)

    def _contents(self, value: Any) -> Iterator[Any]:
        """Remember what an object holds, and yield it."""
        if not isinstance(value, _FROZEN):
            self.objects.append(value)
        if isinstance(value, dict):
            yield from self._of_dict(value)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, (*_CONTAINERS, *_FROZEN)):
            held = list(cast("Iterable[Any]", value))
            self._undo.append(lambda: _put_back_items(value, held))
            yield from held
        else:
            yield from self._of_instance(value)

    def _of_dict(self, value: dict[Any, Any]) -> Iterator[Any]:
        held = dict(value)
        self._undo.append(lambda: _put_back_dict(value, held))
        yield from held.values()

    def _of_instance(self, value: Any) -> Iterator[Any]:
        if hasattr(value, "__dict__"):
            yield from self._of_dict(value.__dict__)
        for name in _slots(value.__class__):
            if hasattr(value, name):
                held = getattr(value, name)
                self._undo.append(lambda name=name, held=held: object.__setattr__(value, name, held))
                yield held


def _package(module: str) -> str:
    top = module.partition(".")[0]
    return "agent_framework" if top.startswith("agent_framework") else top


@functools.cache
def _is_library(package: str) -> bool:
    """Whether a top-level package comes with Python or was installed; what runs from a source tree did not."""
    if package in sys.stdlib_module_names:
        return True
    origin = getattr(getattr(sys.modules.get(package), "__spec__", None), "origin", None) or ""
    return any(origin.startswith(sysconfig.get_path(kind) + os.sep) for kind in ("purelib", "platlib"))


def _slots(cls: type) -> Iterator[str]:
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        yield from (name for name in ([slots] if isinstance(slots, str) else slots) if not name.startswith("__"))


def _put_back_attributes(present: dict[str, Any], held: dict[str, Any], framework_attributes: frozenset[str]) -> None:
    for name in [name for name in present if name not in held and name not in framework_attributes]:
        del present[name]
    present.update(held)


def _put_back_dict(value: dict[Any, Any], held: dict[Any, Any]) -> None:
    if len(value) != len(held) or any(value.get(key, value) is not one for key, one in held.items()):
        dict[Any, Any].clear(value)
        dict[Any, Any].update(value, held)  # as a dict: a Counter's own update would add


def _put_back_items(value: Any, held: list[Any]) -> None:
    if isinstance(value, list):
        value[:] = held
    elif not isinstance(value, _FROZEN):
        value.clear()
        (value.update if isinstance(value, set) else value.extend)(held)  # pyright: ignore
