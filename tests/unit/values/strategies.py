"""Hypothesis strategies: standard values nested in each other, and records that hold them."""

from __future__ import annotations

import collections
import datetime
import pathlib
import types
import zoneinfo
from typing import Any

from hypothesis import strategies as st

from tests.unit.values import samples
from tests.unit.values.samples import Plain

ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]).map(zoneinfo.ZoneInfo)
OFFSETS = st.timedeltas(min_value=datetime.timedelta(hours=-23), max_value=datetime.timedelta(hours=23))
TIMEZONES = OFFSETS.map(datetime.timezone) | st.builds(datetime.timezone, OFFSETS, st.text(max_size=5))
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=10)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**1990, max_value=2**2010)
    | st.floats(allow_nan=False)
    | ANY_TEXT
    | st.binary(max_size=20)
    | st.binary(max_size=20).map(bytearray)
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.uuids()
    | st.dates()
    | st.times()
    | st.times(timezones=TIMEZONES | ZONES)
    | st.datetimes()
    | st.datetimes(timezones=TIMEZONES | ZONES, allow_imaginary=True)
    | st.timedeltas()
    | TIMEZONES
    | ZONES
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 9))
    | ANY_TEXT.filter(lambda text: "\0" not in text).map(pathlib.PurePosixPath)
    | st.ip_addresses()
    | st.just(...)
)
HASHABLE = st.recursive(
    SCALARS.filter(lambda value: type(value) is not bytearray),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.builds(collections.deque, st.lists(inner, max_size=4), st.none() | st.integers(0, 5))
        | st.dictionaries(ANY_TEXT, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["$", "type", "value", "items", "a"]), inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4).map(collections.OrderedDict)
        | st.dictionaries(HASHABLE, inner, max_size=4).map(lambda d: collections.defaultdict(list, d))
        | st.dictionaries(st.text(max_size=3), inner, max_size=4).map(types.MappingProxyType)
        | st.sets(HASHABLE, max_size=4)
        | st.frozensets(HASHABLE, max_size=4)
        | st.dictionaries(HASHABLE, st.integers(), max_size=4).map(collections.Counter)
    ),
    max_leaves=12,
)


LINES = st.builds(samples.Line, name=st.text(), amount=st.floats(allow_nan=False)) | st.builds(
    samples.PricedLine, name=st.text(), price=st.integers()
)
RECORDS = (
    st.builds(samples.Note, st.text(), st.lists(st.text(), max_size=3))
    | st.builds(samples.SignedNote, st.text(), author=st.text())
    | st.builds(samples.Frozen, VALUES)
    | st.builds(samples.Slotted, VALUES, VALUES)
    | st.builds(samples.FrozenSlotted, VALUES)
    | st.builds(samples.Measured, name=st.text(), unit=st.text())
    | st.builds(samples.SlottedMore, VALUES, VALUES, VALUES)
    | st.builds(samples.Held[Any], VALUES)
    | st.builds(samples.Checked, st.integers(), st.lists(st.text(), max_size=2))
    | st.builds(
        lambda value, **fields: samples.Aliased(**fields).keep(value),
        VALUES,
        theName=st.text(),
        hidden=st.text(),
        address=st.none() | st.ip_addresses(),
    )
    | st.builds(samples.Struct, VALUES)
    | st.builds(samples.KeywordStruct, b=st.text())
    | st.builds(samples.Point, VALUES, VALUES)
    | st.builds(samples.Pair, VALUES, VALUES)
    | st.builds(samples.Order, id=st.text(), lines=st.lists(LINES, max_size=3), surplus=VALUES)
    | st.builds(samples.Box[Any], content=VALUES)
    | st.builds(samples.Names, st.lists(st.text(), max_size=3))
    | st.builds(Plain, VALUES)
    | st.builds(samples.Tag, st.text())
    | st.lists(VALUES, max_size=3).map(samples.Basket)
    | st.sampled_from([*samples.Colour, *samples.Level, *samples.Right])
    | st.sampled_from([*samples.Word, samples.Word["AYE"], *samples.Odd, samples.Bits(0), samples.Bits(3)])
    | st.sampled_from([samples.Right(0), samples.Right.READ | samples.Right.RUN])
)
