"""Which classes may be stored and rebuilt, and where they are found. The rules stand in the package docstring.

What must never be here: how an object looks in JSON.
"""

from __future__ import annotations

import abc
import builtins
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import importlib
import ipaddress
import pathlib
import sys
import types
import uuid
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec
import pydantic

from temporal_adapter import maf

from .errors import DecodeError, EncodeError
from .typenames import MAF_PACKAGES, module_name, public_type, type_name

REGISTER = "agent_framework.register_checkpoint_type"

# Declaring one of these says nothing about the classes that derive from it.
_TRIVIAL_MODULES = frozenset({"builtins", "abc", "typing", "typing_extensions", "collections.abc", "enum", "numbers"})
_TRIVIAL_BASES = frozenset({pydantic.BaseModel, msgspec.Struct})
_ROOT_MODEL = "pydantic.root_model:RootModel"  # by name, since touching it loads a module that few processes need

# Value types that a type expression may name without being declared.
_VALUE_TYPES = frozenset[type](
    {
        collections.Counter,
        collections.OrderedDict,
        collections.defaultdict,
        collections.deque,
        datetime.date,
        datetime.datetime,
        datetime.time,
        datetime.timedelta,
        datetime.timezone,
        decimal.Decimal,
        fractions.Fraction,
        ipaddress.IPv4Address,
        ipaddress.IPv4Interface,
        ipaddress.IPv4Network,
        ipaddress.IPv6Address,
        ipaddress.IPv6Interface,
        ipaddress.IPv6Network,
        pathlib.Path,
        pathlib.PurePath,
        pathlib.PurePosixPath,
        pathlib.PureWindowsPath,
        type(pathlib.Path()),
        types.MappingProxyType,
        types.NoneType,
        uuid.UUID,
        zoneinfo.ZoneInfo,
    }
)

# The values inside Pydantic's URL types.
_PYDANTIC_VALUES = frozenset({"pydantic_core._pydantic_core:Url", "pydantic_core._pydantic_core:MultiHostUrl"})


def is_maf_module(module: str) -> bool:
    """Whether a module is MAF's own, or of the OpenAI SDK's types, which MAF stores as well."""
    package = module.partition(".")[0]
    return package == "agent_framework" or package.startswith("agent_framework_") or module.startswith("openai.types.")


def is_namedtuple(cls: type[Any]) -> bool:
    """Whether a class is a named tuple."""
    return tuple in cls.__mro__ and hasattr(cls, "_fields") and hasattr(cls, "_field_defaults")


def is_trivial(cls: type) -> bool:
    """Whether a class says nothing about what derives from it: `object`, `str`, `Enum`, `BaseModel`..."""
    return (
        module_name(cls) in _TRIVIAL_MODULES or cls in _TRIVIAL_BASES or cls is abc.ABC or type_name(cls) == _ROOT_MODEL
    )


class Trust:
    """The trusted classes of one graph.

    Args:
        types: Declared and registered classes by name. A name may also be one that a class had in the past.
    """

    def __init__(self, types: Mapping[str, type]) -> None:
        self._types = {**{type_name(cls): cls for cls in types.values()}, **types}
        self._bases = frozenset(cls for cls in types.values() if not is_trivial(cls))
        self._packages = frozenset(_package(module_name(cls)) for cls in self._bases)
        self._resolved: dict[str, type] = {}

    def name_of(self, cls: type) -> str:
        """Return the name that an object of a class is stored under.

        Raises:
            EncodeError: The class is not trusted, or could not be found again by its name.
        """
        name = type_name(cls)
        if name in self._types:
            return name
        if not self._permits(cls):
            raise EncodeError(_refusal(cls, name))
        try:
            found = self._find(name)
        except DecodeError:
            found = None
        if found is not cls:
            raise EncodeError(
                f"type {name} cannot be stored, since it cannot be found again by its name. "
                f"Define it at module level, or give it to the plugin as one of its types."
            )
        return name

    def resolve(self, name: str) -> type:
        """Return the class of a name.

        Raises:
            DecodeError: There is none, or it is not trusted.
        """
        found = self._resolved.get(name)
        if found is None:
            found = self._find(name)
            if name not in self._types and not self._permits(found):
                raise DecodeError(
                    f"type {name} is neither declared by the graph nor registered, so nothing is rebuilt as one. "
                    f"Register it with {REGISTER}."
                )
            self._resolved[name] = found
        return found

    def name_of_type(self, cls: type) -> str:
        """Return the name of a class that is itself the value, such as a response type. Raises like `name_of`."""
        return type_name(cls) if _is_value_type(cls) else self.name_of(cls)

    def resolve_type(self, name: str) -> type:
        """Reverse `name_of_type`. Raises like `resolve`."""
        if name not in self._types:
            found = self._find(name)
            if _is_value_type(found):
                return found
        return self.resolve(name)

    def _permits(self, cls: type[Any]) -> bool:
        """Whether a class that is not among the declared and registered ones is trusted nevertheless."""
        module = module_name(cls)
        if is_maf_module(module) or f"{module}:{cls.__qualname__}" in self._registered():
            return True
        if issubclass(cls, BaseException) and _package(module) in sys.stdlib_module_names:
            return True
        # By the real base classes: `issubclass` asks the code of a base, and a TypedDict or Protocol refuses to answer.
        return not self._bases.isdisjoint(cls.__mro__) or type_name(cls) in _PYDANTIC_VALUES

    def _registered(self) -> Iterable[str]:
        return maf.REGISTERED_CHECKPOINT_TYPE_KEYS

    def _may_import(self, module: str) -> bool:
        package = _package(module)
        return (
            package in MAF_PACKAGES
            or package in self._packages
            or any(package == _package(key.partition(":")[0]) for key in self._registered())
        )

    def _find(self, name: str) -> type:
        found = self._types.get(name)
        if found is not None:
            return found
        module, colon, qualname = name.partition(":")
        if not colon:
            module, qualname = "builtins", name
        found = public_type(module, qualname) if module in MAF_PACKAGES else None
        if found is None:
            found = self._local(name) if "<locals>" in qualname else self._attribute(module, qualname)
        if not isinstance(found, type):
            raise DecodeError(
                f"{name} is not a class that is found in this process. Import its module: a client before it "
                "reads, a worker before it starts. If it was renamed, give the plugin a mapping from old name to class."
            )
        return cast("type[Any]", found)

    def _attribute(self, module: str, qualname: str) -> object:
        """Follow a qualified name through namespaces; no code of the module runs, save when it is imported."""
        if module not in sys.modules and self._may_import(module):
            try:
                importlib.import_module(module)
            except ImportError:
                return None
        found: object = sys.modules.get(module)
        for part in qualname.split("."):
            if not isinstance(found, (types.ModuleType, type)):
                return None
            found = vars(found).get(part)
        return found

    def _local(self, name: str) -> type | None:
        """Find a class defined in a function: only its bases know it."""
        return next((cls for base in self._bases for cls in _subclasses(base) if type_name(cls) == name), None)


class ClientTrust(Trust):
    """The classes a client may build: any data class that its process has loaded. It never imports a module."""

    def _permits(self, cls: type[Any]) -> bool:
        if super()._permits(cls) or dataclasses.is_dataclass(cls):
            return True
        data = (pydantic.BaseModel, msgspec.Struct, enum.Enum, BaseException)
        return issubclass(cls, data) or is_namedtuple(cls)

    def _may_import(self, module: str) -> bool:
        return False


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_value_type(cls: type) -> bool:
    module = module_name(cls)
    return cls in _VALUE_TYPES or module == "collections.abc" or vars(builtins).get(cls.__qualname__) is cls


def _subclasses(cls: type) -> Iterator[type]:
    for sub in type.__subclasses__(cls):
        yield sub
        yield from _subclasses(sub)


def _refusal(cls: type, name: str) -> str:
    if module_name(cls) in ("builtins", "types", "_thread", "functools", "_asyncio", "_contextvars", "weakref"):
        return (
            f"type {name} cannot be stored: it belongs to this process. Do not put it in a message, state or "
            f"executor attribute; keep what is needed to make it anew."
        )
    return (
        f"type {name} cannot be stored. Register it with {REGISTER}, declare it as a message type of an executor, "
        f"or do not put it in a message, state or executor attribute."
    )
