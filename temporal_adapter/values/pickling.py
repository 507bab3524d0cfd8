"""Pickles, for what has no readable form: written when allowed, read with nothing in reach but trusted classes."""

from __future__ import annotations

import collections
import copyreg
import datetime
import decimal
import fractions
import io
import pathlib
import pickle
import uuid
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any

from .errors import DecodeError, EncodeError
from .trust import module_name

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


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, resolve: Callable[[str], type]) -> None:
        super().__init__(io.BytesIO(data))
        self._resolve = resolve

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        safe = _SAFE.get((module_name, global_name))
        if safe is not None:
            return safe
        if module_name == "builtins":
            raise DecodeError(f"a pickle names {global_name}, which is not among the classes that may be in one.")
        return self._resolve(f"{module_name}:{global_name}")


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
