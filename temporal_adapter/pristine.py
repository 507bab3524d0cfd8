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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from agent_framework import BaseChatClient, Executor, Workflow

_CONTAINERS = (list, dict, set, collections.deque)
_FROZEN = (tuple, frozenset)
_SCALARS = (bool, int, float, complex, str, bytes)
_BELONGS_ELSEWHERE = (BaseChatClient, Workflow, Executor, type)

_Contents = tuple[dict[Any, Any] | list[Any], ...]


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
        self._left_alone = {id(one): one for one in shared}
        self._attributes: list[tuple[Executor, dict[str, Any]]] = []
        self._framework_attributes = framework_attributes
        self._held: dict[int, tuple[Any, _Contents]] = {}  # by id, which stays that object's while it is held here
        for executor in executors:
            held = {name: value for name, value in vars(executor).items() if name not in framework_attributes}
            self._attributes.append((executor, held))
            for value in held.values():
                self._remember(value)

    @property
    def objects(self) -> list[Any]:
        """What is put back, apart from executors."""
        return [one for one, _ in self._held.values() if not isinstance(one, _FROZEN)]

    def put_back(self) -> None:
        """Undo every change since."""
        for executor, held in self._attributes:
            present = vars(executor)
            for name in [one for one in present if one not in held and one not in self._framework_attributes]:
                del present[name]
            present.update(held)
        for one, contents in self._held.values():
            if not _unchanged(_contents(one), contents):
                _put_back(one, contents)

    def changed(self, value: Any) -> bool:
        """Whether an object of the user's own, or something of that kind in it, is not as it was.

        MAF's own are not looked into: agents change when they first run.
        """
        waiting, seen = [value], set[int]()
        while waiting:
            one = waiting.pop()
            if id(one) in seen or id(one) not in self._held or _is_mafs(one):
                continue
            seen.add(id(one))
            now = _contents(one)
            if not _unchanged(now, self._held[id(one)][1]):
                return True
            waiting.extend(_objects(now))
        return False

    def _remember(self, value: Any) -> None:
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if id(one) not in self._held and id(one) not in self._left_alone and self._is_looked_into(one):
                contents = _contents(one)
                self._held[id(one)] = one, contents
                waiting.extend(_objects(contents))

    def _is_looked_into(self, value: Any) -> bool:
        if isinstance(value, (*_CONTAINERS, *_FROZEN)):
            return True
        package = _package(value.__class__.__module__)
        return (package in self._own or not _is_library(package)) and not isinstance(value, _BELONGS_ELSEWHERE)


# --- one object ---------------------------------------------------------------------------------------------


def _contents(value: Any) -> _Contents:
    """Return what an object holds itself, by reference: its items, or its attributes and those in slots."""
    if isinstance(value, dict):
        return ({**value},)
    if isinstance(value, (*_CONTAINERS, *_FROZEN)):
        return (list(cast("Iterable[Any]", value)),)
    slots = {name: getattr(value, name) for name in _slots(value.__class__) if hasattr(value, name)}
    return ({**getattr(value, "__dict__", {})}, slots)


def _objects(contents: _Contents) -> Iterator[Any]:
    for part in contents:
        yield from part.values() if isinstance(part, dict) else part


def _unchanged(now: _Contents, held: _Contents) -> bool:
    return all(len(one) == len(other) and _same(one, other) for one, other in zip(now, held, strict=True))


def _same(now: dict[Any, Any] | list[Any], held: dict[Any, Any] | list[Any]) -> bool:
    if isinstance(now, dict) and isinstance(held, dict):
        return all(key in now and _is(now[key], one) for key, one in held.items())
    return all(map(_is, now, held))


def _is(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, _SCALARS) and one == other)


def _put_back(value: Any, contents: _Contents) -> None:
    if isinstance(value, dict):
        held = cast("dict[Any, Any]", value)
        dict[Any, Any].clear(held)
        dict[Any, Any].update(held, contents[0])  # as a dict: a Counter's own update would add
    elif isinstance(value, list):
        value[:] = contents[0]
    elif isinstance(value, _CONTAINERS):
        value.clear()
        (value.update if isinstance(value, set) else value.extend)(contents[0])  # pyright: ignore
    elif not isinstance(value, _FROZEN):
        attributes, slots = cast("tuple[dict[str, Any], dict[str, Any]]", contents)
        if hasattr(value, "__dict__"):
            value.__dict__.clear()
            value.__dict__.update(attributes)
        for name, slot in slots.items():
            object.__setattr__(value, name, slot)


def _is_mafs(value: Any) -> bool:
    return _package(value.__class__.__module__) == "agent_framework"


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
