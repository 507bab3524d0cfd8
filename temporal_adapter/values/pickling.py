"""Pickles, for what has no readable form: written when allowed, read with nothing in reach but trusted classes.

What a pickle may do is what those that are written here do: make instances, and fill the instances it made. It calls
no class of MAF's own, since some of those do things when they are made, and it changes no class and no enum member.
"""

from __future__ import annotations

import builtins
import collections
import copyreg
import datetime
import decimal
import enum
import fractions
import io
import pathlib
import pickle
import uuid
import zoneinfo
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any, cast

from .errors import DecodeError, EncodeError
from .layout import own_hook
from .trust import is_maf_module
from .typenames import module_name

_PROTOCOL = 4  # the newest that Python 3.10 to 3.13 share, and free of helper functions

_BUILTINS = (bool, bytearray, bytes, complex, dict, float, frozenset, int, list, object, range, set, slice, str, tuple)
_STANDARD = (
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
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    uuid.UUID,
    zoneinfo.ZoneInfo,
)
# Functions that pickle itself rebuilds objects with. `getattr`, `eval` and their like are not among them, and a
# dotted name only ever leads to a class.
_HELPERS = ("__newobj__", "__newobj_ex__", "_reconstructor")

_SAFE: Mapping[tuple[str, str], Any] = {
    **{(module_name(cls), cls.__qualname__): cls for cls in (*_BUILTINS, *_STANDARD)},
    **{("copyreg", name): getattr(copyreg, name) for name in _HELPERS},
}


def _enum_member(cls: Any, name: Any) -> Any:
    """Stand in for `getattr`, by which Python 3.11.0 to 3.11.3 have enum members pickled; it gives nothing else."""
    if isinstance(cls, type) and issubclass(cls, enum.Enum) and name in cls.__members__:
        return cls.__members__[name]
    raise DecodeError(f"a pickle takes {name!r} of something that is no enum, or has no such member.")


# Pickle's own unpickler, in its form in Python: that in C cannot be told what to leave.
_Base: Any = vars(pickle)["_Unpickler"]
# What pickles of other protocols, and no others, make instances with.
_UNUSED = (pickle.OBJ, pickle.INST, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.PERSID, pickle.BINPERSID)


class _Unpickler(_Base):
    def __init__(self, data: bytes, resolve: Callable[[str], type]) -> None:
        super().__init__(io.BytesIO(data))  # pyright: ignore[reportUnknownMemberType]  # of the private base
        self._resolve = resolve

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        safe = _SAFE.get((module_name, global_name))
        if safe is not None:
            return safe
        if global_name == "getattr" and module_name in ("builtins", "__builtin__"):
            return _enum_member
        if module_name == "builtins":
            error = vars(builtins).get(global_name)
            if isinstance(error, type) and issubclass(error, BaseException):
                return error
            raise DecodeError(f"a pickle names {global_name}, which is not among the classes that may be in one.")
        return self._resolve(f"{module_name}:{global_name}")

    def load_build(self) -> None:
        filled = self.stack[-2]
        if isinstance(filled, (type, enum.Enum, FunctionType, BuiltinFunctionType)):
            raise DecodeError("a pickle changes a class, a function or an enum member, which all the process shares.")
        _Base.load_build(self)

    def load_reduce(self) -> None:
        called = self.stack[-2]
        if isinstance(called, type) and not _may_be_called(cast("type[Any]", called)):
            raise DecodeError(f"a pickle calls {called.__qualname__}, which pickles only make without calling it.")
        _Base.load_reduce(self)

    def refuse(self) -> None:
        raise DecodeError("a pickle has an instruction that those written here do not have.")

    dispatch: Mapping[int, Callable[..., None]] = {
        **_Base.dispatch,
        **dict.fromkeys((code[0] for code in _UNUSED), refuse),
        pickle.BUILD[0]: load_build,
        pickle.REDUCE[0]: load_reduce,
    }


def _may_be_called(cls: type[Any]) -> bool:
    return not is_maf_module(module_name(cls)) or issubclass(cls, (BaseException, enum.Enum))


def reduces_in_its_own_way(cls: type[Any]) -> bool:
    """Whether a class's author, or `copyreg`, says how to make an instance, so that only a pickle can follow."""
    if cls in cast("dict[type, Any]", copyreg.dispatch_table):
        return True
    return any(own_hook(cls, name) for name in ("__reduce__", "__reduce_ex__"))


def dump_pickle(obj: object, name: Any, resolve: Callable[[str], type]) -> bytes:
    """Return the pickle of an object, once it is known that it can be read again.

    Raises:
        EncodeError: It cannot be pickled, or holds something that is not trusted.
    """
    try:
        data = pickle.dumps(obj, protocol=_PROTOCOL)
        load_pickle(data, resolve)
    except Exception as error:
        raise EncodeError(
            f"type {name} cannot be stored, since its own pickling fails: {error} "
            f"Give it fields that can be stored, or do not put it in a message, state or executor attribute."
        ) from error
    return data


def load_pickle(data: bytes, resolve: Callable[[str], type]) -> Any:
    """Return the object of a pickle.

    Args:
        data: The pickle.
        resolve: Gives the class of a name, or raises `DecodeError` for one that is not trusted.

    Raises:
        DecodeError: It names something that is not trusted.
        Exception: Whatever damaged data, or a trusted class, makes pickle raise.
    """
    return _Unpickler(data, resolve).load()
