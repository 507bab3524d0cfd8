"""Kinds of values without parts: the standard library's scalars, dates and times, ids and paths."""

from __future__ import annotations

import datetime
import decimal
import fractions
import ipaddress
import math
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import TzInfo

from temporal_adapter.wire.tags import TAG, bytes_to_text, text_to_bytes

from .errors import DecodeError, EncodeError
from .walk import DecodeHandler, Decoder, EncodeHandler, Encoder, encode_str

_DURATION = re.compile(r"(-?)PT(\d{1,20})(?:\.(\d{6}))?S", re.ASCII)
_MICROSECOND = datetime.timedelta(microseconds=1)
_PATHS = {
    cls.__name__: cls
    for cls in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
}
_ADDRESSES = {
    cls.__name__: cls
    for cls in (
        ipaddress.IPv4Address,
        ipaddress.IPv4Interface,
        ipaddress.IPv4Network,
        ipaddress.IPv6Address,
        ipaddress.IPv6Interface,
        ipaddress.IPv6Network,
    )
}


def _text(data: dict[str, Any]) -> str:
    value = data["value"]
    if type(value) is not str:
        raise DecodeError(f"expected a string as value, found {type(value).__name__}.")
    return value


# --- numbers and strings that JSON cannot say ---------------------------------------------------------------


def _decode_int(decoder: Decoder, data: dict[str, Any]) -> int:
    return int(_text(data), 16)


def _decode_float(decoder: Decoder, data: dict[str, Any]) -> float:
    value = float(_text(data))
    if math.isfinite(value):
        raise DecodeError("a finite float needs no tag.")
    return value


def _decode_str(decoder: Decoder, data: dict[str, Any]) -> str:
    return _text(data).encode("ascii").decode("unicode_escape")


def _encode_complex(encoder: Encoder, obj: complex) -> Any:
    return {TAG: "complex", "real": encoder.value(obj.real), "imag": encoder.value(obj.imag)}


def _decode_complex(decoder: Decoder, data: dict[str, Any]) -> complex:
    real, imag = decoder.value(data["real"]), decoder.value(data["imag"])
    if type(real) is not float or type(imag) is not float:
        # Other JSON libraries print 1.0 as 1.
        real, imag = float(real), float(imag)
    return complex(real, imag)


def _encode_fraction(encoder: Encoder, obj: fractions.Fraction) -> Any:
    return {
        TAG: "fraction",
        "numerator": encoder.value(obj.numerator),
        "denominator": encoder.value(obj.denominator),
    }


def _decode_fraction(decoder: Decoder, data: dict[str, Any]) -> fractions.Fraction:
    numerator, denominator = decoder.value(data["numerator"]), decoder.value(data["denominator"])
    if type(numerator) is not int or type(denominator) is not int:
        raise DecodeError("a fraction has two integers.")
    return fractions.Fraction(numerator, denominator)


def _encode_decimal(encoder: Encoder, obj: decimal.Decimal) -> Any:
    return {TAG: "decimal", "value": str(obj)}


def _encode_uuid(encoder: Encoder, obj: uuid.UUID) -> Any:
    return {TAG: "uuid", "value": str(obj)}


# --- bytes --------------------------------------------------------------------------------------------------


def _encode_bytes(encoder: Encoder, obj: bytes) -> Any:
    return {TAG: "bytes", "value": bytes_to_text(obj)}


def _encode_bytearray(encoder: Encoder, obj: bytearray) -> Any:
    return {TAG: "bytearray", "value": bytes_to_text(bytes(obj))}


# --- dates and times ----------------------------------------------------------------------------------------


def _encode_datetime(encoder: Encoder, obj: datetime.datetime) -> Any:
    return _with_zone(encoder, {TAG: "datetime", "value": obj.isoformat()}, obj)


def _encode_time(encoder: Encoder, obj: datetime.time) -> Any:
    return _with_zone(encoder, {TAG: "time", "value": obj.isoformat()}, obj)


def _with_zone(encoder: Encoder, encoded: dict[str, Any], obj: datetime.datetime | datetime.time) -> dict[str, Any]:
    """Add the time zone, unless it is the plain offset that the text already ends with, and the fold."""
    zone = obj.tzinfo
    if zone is not None and not _is_offset(zone):
        encoded["zone"] = encoder.value(zone)
    if obj.fold:
        encoded["fold"] = 1
    return encoded


def _is_offset(zone: datetime.tzinfo) -> bool:
    """Whether a zone is an offset without a name that ISO 8601 can say: Python misreads fractions of a second."""
    if type(zone) not in (datetime.timezone, TzInfo):
        return False
    offset, *names = _init_args(zone)
    return not names and not offset.microseconds


def _init_args(zone: datetime.tzinfo) -> tuple[Any, ...]:
    """Return the offset, and the name if one was given. It is what pickle uses; nothing else tells the two apart.

    Pydantic has zones of its own for the offsets that it reads. They equal Python's, and are stored as these.
    """
    return (zone.utcoffset(None),) if isinstance(zone, TzInfo) else cast("Any", zone).__getinitargs__()


def _decode_datetime(decoder: Decoder, data: dict[str, Any]) -> datetime.datetime:
    value = datetime.datetime.fromisoformat(_text(data))
    return value.replace(fold=_fold(data), tzinfo=_zone(decoder, data, value.tzinfo))


def _decode_time(decoder: Decoder, data: dict[str, Any]) -> datetime.time:
    value = datetime.time.fromisoformat(_text(data))
    return value.replace(fold=_fold(data), tzinfo=_zone(decoder, data, value.tzinfo))


def _fold(data: dict[str, Any]) -> int:
    return 1 if data.get("fold") == 1 else 0


def _zone(decoder: Decoder, data: dict[str, Any], offset: datetime.tzinfo | None) -> datetime.tzinfo | None:
    return decoder.value(data["zone"]) if "zone" in data else offset


def _encode_date(encoder: Encoder, obj: datetime.date) -> Any:
    return {TAG: "date", "value": obj.isoformat()}


def _encode_timedelta(encoder: Encoder, obj: datetime.timedelta) -> Any:
    return {TAG: "timedelta", "value": _duration(obj)}


def _decode_timedelta(decoder: Decoder, data: dict[str, Any]) -> datetime.timedelta:
    return _parse_duration(_text(data))


def _duration(delta: datetime.timedelta) -> str:
    """Return a time span in ISO 8601, in seconds alone: `PT5400S`, `-PT0.500000S`."""
    total = delta // _MICROSECOND
    seconds, rest = divmod(abs(total), 1_000_000)
    return f"{'-' if total < 0 else ''}PT{seconds}{f'.{rest:06}' if rest else ''}S"


def _parse_duration(text: str) -> datetime.timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise DecodeError("a time span looks like PT5400S or -PT0.500000S.")
    sign, seconds, rest = match.groups()
    delta = datetime.timedelta(seconds=int(seconds), microseconds=int(rest or "0"))
    return -delta if sign else delta


def _encode_timezone(encoder: Encoder, obj: datetime.tzinfo) -> Any:
    offset, *names = _init_args(obj)
    encoded = {TAG: "timezone", "value": _duration(offset)}
    return {**encoded, "name": encoder.value(names[0])} if names else encoded


def _decode_timezone(decoder: Decoder, data: dict[str, Any]) -> datetime.timezone:
    offset = _parse_duration(_text(data))
    return datetime.timezone(offset, decoder.value(data["name"])) if "name" in data else datetime.timezone(offset)


def _encode_zoneinfo(encoder: Encoder, obj: zoneinfo.ZoneInfo) -> Any:
    if obj.key is None:  # pyright: ignore[reportUnnecessaryComparison]  # a zone read from a file
        raise EncodeError("a ZoneInfo without a key cannot be stored. Make it with ZoneInfo('Area/City').")
    return {TAG: "zoneinfo", "value": obj.key}


# --- paths --------------------------------------------------------------------------------------------------


def _encode_path(encoder: Encoder, obj: pathlib.PurePath) -> Any:
    return {TAG: "path", "flavour": type(obj).__name__, "value": encode_str(encoder, str(obj))}


def _decode_path(decoder: Decoder, data: dict[str, Any]) -> pathlib.PurePath:
    text = decoder.value(data["value"])
    if type(text) is not str:
        raise DecodeError("a path is a string.")
    return _PATHS[data["flavour"]](text)


# --- internet addresses -------------------------------------------------------------------------------------


def _encode_address(encoder: Encoder, obj: Any) -> Any:
    return {TAG: "ip", "flavour": type(obj).__name__, "value": str(obj)}


def _decode_address(decoder: Decoder, data: dict[str, Any]) -> Any:
    return _ADDRESSES[data["flavour"]](_text(data))


ENCODERS: Mapping[type, EncodeHandler] = {
    complex: _encode_complex,
    fractions.Fraction: _encode_fraction,
    decimal.Decimal: _encode_decimal,
    uuid.UUID: _encode_uuid,
    bytes: _encode_bytes,
    bytearray: _encode_bytearray,
    datetime.datetime: _encode_datetime,
    datetime.date: _encode_date,
    datetime.time: _encode_time,
    datetime.timedelta: _encode_timedelta,
    datetime.timezone: _encode_timezone,
    TzInfo: _encode_timezone,
    zoneinfo.ZoneInfo: _encode_zoneinfo,
    **dict.fromkeys(_PATHS.values(), _encode_path),
    **dict.fromkeys(_ADDRESSES.values(), _encode_address),
}

DECODERS: Mapping[str, DecodeHandler] = {
    "int": _decode_int,
    "float": _decode_float,
    "str": _decode_str,
    "complex": _decode_complex,
    "fraction": _decode_fraction,
    "decimal": lambda decoder, data: decimal.Decimal(_text(data)),
    "uuid": lambda decoder, data: uuid.UUID(_text(data)),
    "bytes": lambda decoder, data: text_to_bytes(_text(data)),
    "bytearray": lambda decoder, data: bytearray(text_to_bytes(_text(data))),
    "datetime": _decode_datetime,
    "date": lambda decoder, data: datetime.date.fromisoformat(_text(data)),
    "time": _decode_time,
    "timedelta": _decode_timedelta,
    "timezone": _decode_timezone,
    "zoneinfo": lambda decoder, data: zoneinfo.ZoneInfo(_text(data)),
    "path": _decode_path,
    "ip": _decode_address,
}
