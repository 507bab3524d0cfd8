"""Where Python keeps the attributes of an object, and how to put them back without running the object's code.

Knows nothing of JSON, of kinds, or of trust.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, MemberDescriptorType
from typing import Any, cast

# Writing one of these through `object.__setattr__` would change what the object is, not what it holds.
_NEVER_STATE = frozenset({"__class__", "__dict__", "__weakref__", "__slots__"})


@dataclass(frozen=True)
class Layout:
    """The places in which an instance of a class keeps its attributes."""

    slots: Mapping[str, MemberDescriptorType]  # by (mangled) name
    has_dict: bool
    derived: frozenset[str]  # attributes that are computed again when missing: cached properties

    def state(self, obj: object) -> dict[str, Any]:
        """Return the attributes that are set, slots first."""
        values: dict[str, Any] = {}
        for name, slot in self.slots.items():
            try:
                values[name] = slot.__get__(obj)
            except AttributeError:
                continue
        if self.has_dict:
            values.update(obj.__dict__)
        return values

    def restore(self, obj: object, values: Mapping[str, Any]) -> None:
        """Set attributes, bypassing `__setattr__`, properties and frozen classes.

        A value for which the class no longer has a place is dropped.

        Raises:
            ValueError: A name is one that Python itself uses.
        """
        self.check(values)
        slots = self.slots
        attributes = obj.__dict__ if self.has_dict else None
        for name, value in values.items():
            if name in slots:
                slots[name].__set__(obj, value)
            elif attributes is not None:
                attributes[name] = value

    @staticmethod
    def check(values: object) -> None:
        """Refuse a state that would change what an object is.

        Raises:
            ValueError: A name is one that Python itself uses.
        """
        if isinstance(values, dict) and not _NEVER_STATE.isdisjoint(cast("dict[Any, Any]", values)):
            raise ValueError(f"the state of an object has none of {', '.join(sorted(_NEVER_STATE))}")


def layout_of(cls: type) -> Layout:
    """Return the layout of a class."""
    slots: dict[str, MemberDescriptorType] = {}
    derived: set[str] = set()
    for base in reversed(cls.__mro__):
        for name, attribute in vars(base).items():
            if isinstance(attribute, functools.cached_property):
                derived.add(name)
            elif "__slots__" in vars(base) and isinstance(attribute, MemberDescriptorType):
                slots[name] = attribute
    return Layout(slots=slots, has_dict=cls.__dictoffset__ != 0, derived=frozenset(derived))


def is_plain(cls: type) -> bool:
    """Whether `object.__new__` can make an instance: no base class keeps data in C."""
    for base in cls.__mro__:
        if isinstance(vars(base).get("__new__"), BuiltinFunctionType):
            return base is object
    return False


def own_hook(cls: type, name: str) -> Any:
    """Return a pickling hook that the class's author wrote, or None if it is Python's or the dataclass decorator's."""
    hook = getattr(cls, name, None)
    if hook is None or hook is getattr(object, name, None):
        return None
    return None if getattr(hook, "__module__", None) == "dataclasses" else hook


def reduces_by_default(cls: type) -> bool:
    """Whether pickling would store nothing but the attributes: the author wrote no hook that says otherwise."""
    hooks = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
    reducers = cast("dict[type, Any]", copyreg.dispatch_table)
    return is_plain(cls) and cls not in reducers and not any(own_hook(cls, hook) for hook in hooks)
