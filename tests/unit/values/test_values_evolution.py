"""What one release of an application stored, the next one reads."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, NamedTuple

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.values import Codec, DecodeError
from tests.unit.values.samples import through_json


def upgrade(old: Any, new_class: type) -> Any:
    """Store an object with its class, and read it where the class has become another."""
    name = "app:Thing"
    type(old).__module__, type(old).__qualname__ = "app", "Thing"
    new_class.__module__, new_class.__qualname__ = "app", "Thing"
    return through_json(Codec({name: type(old)}), old, reader=Codec({name: new_class}))


@dataclasses.dataclass
class OldDataclass:
    kept: int
    removed: str = "gone"


class OldModel(pydantic.BaseModel):
    kept: int
    removed: str = "gone"


class OldTuple(NamedTuple):
    kept: int
    removed: str = "gone"


class OldStruct(msgspec.Struct):
    kept: int
    removed: str = "gone"


def test_a_dataclass_gains_fields_with_defaults_and_loses_others() -> None:
    @dataclasses.dataclass
    class New:
        kept: int
        added: list[int] = dataclasses.field(default_factory=lambda: [1])
        fixed: str = "x"

    assert vars(upgrade(OldDataclass(5), New)) == {"kept": 5, "added": [1], "fixed": "x"}


def test_a_model_gains_fields_with_defaults_and_loses_others() -> None:
    class New(pydantic.BaseModel):
        kept: int
        added: str | None = None
        made: list[int] = pydantic.Field(default_factory=list)
        _hidden: int = pydantic.PrivateAttr(default=3)

    restored = upgrade(OldModel(kept=5), New)

    assert (restored, restored.model_fields_set, restored._hidden) == (New(kept=5), {"kept"}, 3)


def test_a_named_tuple_gains_and_loses_fields() -> None:
    class New(NamedTuple):
        added: int = 1
        kept: int = 0

    assert upgrade(OldTuple(5), New) == New(1, 5)


def test_a_struct_gains_and_loses_fields() -> None:
    class New(msgspec.Struct):
        kept: int
        added: list[int] = []

    assert upgrade(OldStruct(5), New) == New(5, [])


def test_a_field_that_became_an_attribute_with_slots_is_dropped_or_kept_by_name() -> None:
    @dataclasses.dataclass(slots=True)
    class New:
        kept: int

    assert upgrade(OldDataclass(5), New) == New(5)


@pytest.mark.parametrize("kind", ["dataclass", "model", "namedtuple", "struct"])
def test_a_new_field_without_a_default_is_an_error_that_says_so(kind: str) -> None:
    @dataclasses.dataclass
    class NewDataclass:
        kept: int
        added: int

    class NewModel(pydantic.BaseModel):
        added: int

    class NewTuple(NamedTuple):
        added: int

    class NewStruct(msgspec.Struct):
        added: int

    old, new = {
        "dataclass": (OldDataclass(1), NewDataclass),
        "model": (OldModel(kept=1), NewModel),
        "namedtuple": (OldTuple(1), NewTuple),
        "struct": (OldStruct(1), NewStruct),
    }[kind]

    with pytest.raises(DecodeError, match=r"app:Thing has a field 'added'.*Give the field a default"):
        upgrade(old, new)


def test_a_dataclass_may_become_a_model() -> None:
    class New(pydantic.BaseModel):
        kept: int
        added: int = 2

    assert upgrade(OldDataclass(5), New) == New.model_construct(kept=5, added=2)


def test_a_removed_field_is_not_looked_at() -> None:
    @dataclasses.dataclass
    class Removed:
        pass

    @dataclasses.dataclass
    class New:
        kept: int = 0

    encoded = Codec({"app:Old": OldDataclass, "app:Removed": Removed}).encode(OldDataclass(5, removed=Removed()))  # type: ignore[arg-type]
    encoded["type"] = "app:New"

    assert Codec({"app:New": New}).decode(encoded) == New(5)


def test_a_renamed_class_is_read_by_its_old_name() -> None:
    @dataclasses.dataclass
    class New:
        kept: int

    encoded = {"$": "dataclass", "type": "app.old:Report", "fields": {"kept": 1}}

    assert Codec({"app.old:Report": New}).decode(encoded) == New(1)


def test_a_renamed_enum_member_is_found_by_its_value() -> None:
    class New(enum.Enum):
        CRIMSON = "red"

    codec = Codec({"app:Colour": New})

    assert codec.decode({"$": "enum", "type": "app:Colour", "name": "RED", "value": "red"}) is New.CRIMSON
    with pytest.raises(DecodeError, match="app:Colour"):
        codec.decode({"$": "enum", "type": "app:Colour", "name": "BLUE", "value": "blue"})


def test_an_extra_field_of_a_model_that_became_a_field_is_kept() -> None:
    class Old(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")

    class New(pydantic.BaseModel):
        kept: int = 0

    assert upgrade(Old.model_validate({"kept": 5, "dropped": 6}), New) == New(kept=5)


def test_an_enum_member_that_is_gone_is_an_error_that_names_it_and_says_what_to_do() -> None:
    class New(enum.Enum):
        GREEN = "green"

    with pytest.raises(DecodeError, match=r"app:Colour has no member 'RED'.*value 'red'.*Keep old members"):
        Codec({"app:Colour": New}).decode({"$": "enum", "type": "app:Colour", "name": "RED", "value": "red"})


def test_an_enum_may_say_what_a_member_became() -> None:
    class New(enum.Enum):
        WARM = "warm"

        @classmethod
        def _missing_(cls, value: object) -> New | None:
            return cls.WARM if value == "red" else None

    codec = Codec({"app:Colour": New})

    assert codec.decode({"$": "enum", "type": "app:Colour", "name": "RED", "value": "red"}) is New.WARM


FIELDS = st.dictionaries(st.sampled_from("abcdef"), st.integers(), min_size=1)


def dataclass_of(names: set[str], defaults: set[str]) -> type:
    fields = [(name, int) for name in sorted(names - defaults)]
    return dataclasses.make_dataclass("Thing", [*fields, *((name, int, -1) for name in sorted(defaults))])


def model_of(names: set[str], defaults: set[str]) -> type:
    fields: dict[str, Any] = {name: (int, -1 if name in defaults else ...) for name in sorted(names | defaults)}
    return pydantic.create_model("Thing", **fields)


@pytest.mark.parametrize("make", [dataclass_of, model_of])
@given(old=FIELDS, kept=st.sets(st.sampled_from("abcdef")), added=st.sets(st.sampled_from("uvwxyz")))
def test_fields_may_come_with_a_default_and_go_in_any_number(
    make: Any, old: dict[str, int], kept: set[str], added: set[str]
) -> None:
    kept &= set(old)

    restored = upgrade(make(set(old), set())(**old), make(kept, added))

    assert vars(restored) == {**{name: old[name] for name in kept}, **dict.fromkeys(added, -1)}


@pytest.mark.parametrize("make", [dataclass_of, model_of])
@given(old=FIELDS, added=st.sampled_from("uvwxyz"))
def test_a_field_that_came_without_a_default_is_named(make: Any, old: dict[str, int], added: str) -> None:
    with pytest.raises(DecodeError, match=rf"type app:Thing has a field '{added}'.*Give the field a default"):
        upgrade(make(set(old), set())(**old), make({*old, added}, set()))
