"""Only trusted classes are stored and rebuilt, and names lead nowhere else."""

from __future__ import annotations

import base64
import dataclasses
import os
import pickle
import sys
from pathlib import Path
from typing import Any, Protocol, TypedDict

import pydantic
import pytest
from agent_framework import FileCheckpointStorage, Message, register_checkpoint_type

from temporal_adapter import maf
from temporal_adapter.values import Codec, DecodeError, EncodeError
from temporal_adapter.values.pickling import load_pickle
from tests.unit.values import samples
from tests.unit.values.samples import TYPES, through_json

UNKNOWN = "tests.unit.values.samples:Unknown"


def test_an_undeclared_class_is_neither_stored_nor_rebuilt(codec: Codec) -> None:
    with pytest.raises(EncodeError, match=UNKNOWN):
        codec.encode(samples.Unknown())
    with pytest.raises(DecodeError, match=rf"{UNKNOWN} is neither declared by the graph nor registered"):
        codec.decode({"$": "object", "type": UNKNOWN, "fields": {}})


def test_a_class_registered_with_maf_is_trusted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = Codec()
    before = set(maf.REGISTERED_CHECKPOINT_TYPE_KEYS)
    with pytest.raises(EncodeError):
        codec.encode(samples.Frozen(1))

    register_checkpoint_type(samples.Frozen)
    try:
        assert through_json(codec, samples.Frozen(1)) == samples.Frozen(1)
    finally:
        maf.REGISTERED_CHECKPOINT_TYPE_KEYS.intersection_update(before)


def test_a_subclass_of_a_declared_class_is_trusted() -> None:
    codec = Codec({"any": samples.Line})

    assert through_json(codec, samples.PricedLine(name="a")) == samples.PricedLine(name="a")


class Keyed(TypedDict):
    a: int


class Speaks(Protocol):
    a: int


@pytest.mark.parametrize("declared", [Keyed, Speaks])
def test_a_declared_class_that_answers_no_subclass_checks_harms_no_other(declared: type) -> None:
    codec = Codec({"declared": declared, "line": samples.Line})

    assert through_json(codec, samples.PricedLine(name="a")) == samples.PricedLine(name="a")
    with pytest.raises(EncodeError, match=UNKNOWN):
        codec.encode(samples.Unknown())
    with pytest.raises(DecodeError, match=UNKNOWN):
        codec.decode({"$": "object", "type": UNKNOWN, "fields": {}})


@pytest.mark.parametrize("base", [object, Exception, str, pydantic.BaseModel])
def test_a_base_that_says_nothing_does_not_extend_trust(base: type) -> None:
    with pytest.raises(EncodeError):
        Codec({"base": base}).encode(samples.Line(name="a"))


def test_local_classes_are_found_among_the_declared_and_their_subclasses() -> None:
    @dataclasses.dataclass
    class Local:
        a: int

    @dataclasses.dataclass
    class Derived(Local):
        b: int = 0

    codec = Codec({"local": Local})

    restored = through_json(codec, [Local(1), Derived(2)])

    assert [type(item) for item in restored] == [Local, Derived]


def test_each_graph_gets_its_own_classes_of_equal_name() -> None:
    def build() -> type:
        @dataclasses.dataclass
        class Local:
            a: int

        return Local

    first, second = build(), build()

    restored = through_json(Codec({"a": first}), first(1), reader=Codec({"a": second}))

    assert type(restored) is second


def test_a_class_that_cannot_be_found_by_its_name_fails_when_stored(codec: Codec) -> None:
    lost = type("Lost", (samples.Line,), {"__module__": "tests.unit.values.samples", "__qualname__": "Lost"})

    with pytest.raises(EncodeError, match="cannot be found again by its name"):
        codec.encode(lost(name="a"))


def test_a_module_is_imported_only_from_a_trusted_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("trusted_app", "foreign_app"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
        (tmp_path / package / "late.py").write_text("from trusted_app.base import Base\nclass Late(Base):\n    pass\n")
    (tmp_path / "trusted_app" / "base.py").write_text("class Base:\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from trusted_app.base import Base  # type: ignore[import-not-found]

    codec = Codec({"base": Base})

    assert type(codec.decode({"$": "object", "type": "trusted_app.late:Late", "fields": {}})).__name__ == "Late"
    with pytest.raises(DecodeError, match="is not a class that is found in this process"):
        codec.decode({"$": "object", "type": "foreign_app.late:Late", "fields": {}})
    assert "foreign_app" not in sys.modules


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "subprocess:Popen",
        "builtins:eval",
        "eval",
        "object",
        "type",
        "dict",
        "agent_framework:Message.__init__",
        "agent_framework._types:Message.to_dict",
        "agent_framework:no_such_thing",
        "tests.unit.values.samples:TYPES",
        "tests.unit.values.samples:Line.__class__",
        ":",
        "",
        "a:b:c",
        "datetime:datetime",
        "types:FunctionType",
        "..:a",
    ],
)
@pytest.mark.parametrize("kind", ["object", "dataclass", "model", "enum", "exception", "pickle"])
def test_a_name_of_anything_else_is_refused(codec: Codec, kind: str, name: str) -> None:
    data = {"$": kind, "type": name, "fields": {}, "args": [], "name": "a", "value": 1, "data": "gASMAWGULg=="}

    with pytest.raises(DecodeError):
        codec.decode(data)


class _Gadget:
    def __init__(self, function: Any, *args: Any) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> Any:
        return self.function, self.args


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (os.system, ("true",)),
        (eval, ("1",)),
        (getattr, (samples.Line, "mro")),
        (type, ("X", (), {})),
        (samples.Unknown, ()),
        (samples.through_json, (None, None)),
    ],
)
def test_a_pickle_reaches_nothing_that_is_not_trusted(codec: Codec, function: Any, args: tuple[Any, ...]) -> None:
    gadget = base64.b64encode(pickle.dumps(_Gadget(function, *args))).decode()

    with pytest.raises(DecodeError):
        codec.decode({"$": "pickle", "type": "tests.unit.values.samples:Reduced", "data": gadget})


def instructions(target: bytes, state: dict[str, Any]) -> str:
    """Return a pickle that sets attributes of what a global name leads to, as no pickle of an object does."""
    dumped = pickle.dumps((None, state), protocol=2)[2:-1]
    return base64.b64encode(b"\x80\x02c" + target + dumped + b"b.").decode()


@pytest.mark.parametrize(
    "target",
    [b"tests.unit.values.samples\nReduced\n", b"copyreg\n__newobj__\n", b"decimal\nDecimal\n"],
)
def test_a_pickle_changes_no_class_and_no_function(codec: Codec, target: bytes) -> None:
    data = instructions(target, {"injected": 1})

    with pytest.raises(DecodeError, match="which all the process shares"):
        codec.decode({"$": "pickle", "type": "tests.unit.values.samples:Reduced", "data": data})
    assert not hasattr(samples.Reduced, "injected")


def test_a_pickle_changes_no_enum_member(codec: Codec) -> None:
    dumped = pickle.dumps(samples.Colour.RED, protocol=2)[:-1] + pickle.dumps({"_value_": "green"}, protocol=2)[2:-1]
    data = base64.b64encode(dumped + b"b.").decode()

    with pytest.raises(DecodeError, match="which all the process shares"):
        codec.decode({"$": "pickle", "type": "tests.unit.values.samples:Reduced", "data": data})
    assert samples.Colour.RED.value == "red"


def test_of_getattr_a_pickle_has_nothing_but_members_of_enums() -> None:
    known = {f"{one.__module__}:{one.__qualname__}": one for one in (samples.Colour, samples.Note)}

    def loaded(owner: type, name: str) -> Any:
        return load_pickle(pickle.dumps(_Gadget(getattr, owner, name), protocol=4), known.__getitem__)

    assert loaded(samples.Colour, "RED") is samples.Colour.RED  # as Python 3.11.0 to 3.11.3 have it
    for owner, name in [(samples.Colour, "__init__"), (samples.Note, "__init__"), (str, "mro")]:
        with pytest.raises(DecodeError, match="no enum, or has no such member"):
            loaded(owner, name)


def test_a_pickle_makes_nothing_of_maf_that_does_something_when_made(codec: Codec, tmp_path: Path) -> None:
    storage = _Gadget(FileCheckpointStorage, str(tmp_path / "made"))
    data = base64.b64encode(pickle.dumps(storage)).decode()

    with pytest.raises(DecodeError, match="calls FileCheckpointStorage"):
        codec.decode({"$": "pickle", "type": "tests.unit.values.samples:Reduced", "data": data})
    assert not (tmp_path / "made").exists()


def test_a_message_within_a_pickle_survives(codec: Codec) -> None:
    value = samples.Reduced((Message("user", ["hi"]), samples.Colour.RED, ValueError("no"), samples.Note("text")))

    restored = through_json(codec, value)

    assert (restored.a[0].text, restored.a[1], restored.a[3]) == ("hi", samples.Colour.RED, samples.Note("text"))


def test_a_pickle_of_another_type_than_it_says_is_refused(codec: Codec) -> None:
    data = base64.b64encode(pickle.dumps([1])).decode()

    with pytest.raises(DecodeError, match="holds another type"):
        codec.decode({"$": "pickle", "type": "tests.unit.values.samples:Reduced", "data": data})


def test_with_pickling_off_no_pickle_is_read() -> None:
    stored = Codec(TYPES).encode(samples.Reduced(1))

    with pytest.raises(DecodeError, match="pickling is turned off"):
        Codec(TYPES, allow_pickle=False).decode(stored)


def test_state_cannot_change_what_an_object_is(codec: Codec) -> None:
    data = {
        "$": "object",
        "type": "tests.unit.values.samples:Plain",
        "fields": {"__class__": {"$": "type", "value": "tests.unit.values.samples:Reduced"}},
    }

    with pytest.raises(DecodeError, match="__class__"):
        codec.decode(data)


class TestClient:
    """A client's codec knows what its process has loaded, and shows the rest."""

    client = Codec(unknown="plain", allow_pickle=False)

    def test_loaded_data_classes_are_rebuilt_without_declaration(self, codec: Codec) -> None:
        value = [samples.Line(name="a"), samples.Frozen(1), samples.Colour.RED, samples.Point(1, 2)]

        assert through_json(codec, value, reader=self.client) == value
        assert through_json(self.client, value) == value

    def test_what_is_not_known_becomes_plain_json(self) -> None:
        unknown = {
            "$": "model",
            "type": "elsewhere:Report",
            "fields": {"when": {"$": "date", "value": "2024-01-02"}, "by": {"$": "future-kind", "value": 3}},
        }

        assert self.client.decode([unknown]) == [{"when": "2024-01-02", "by": 3}]
        assert self.client.decode({"$": "type", "value": "elsewhere:Report"}) == "elsewhere:Report"
        assert self.client.decode({"$": "set", "items": [unknown]}) == [unknown and {"when": "2024-01-02", "by": 3}]

    def test_nothing_is_imported(self) -> None:
        assert "this" not in sys.modules

        assert self.client.decode({"$": "object", "type": "this:Zen", "fields": {"a": 1}}) == {"a": 1}
        assert "this" not in sys.modules

    def test_a_pickle_stays_as_it_is(self, codec: Codec) -> None:
        stored = codec.encode(samples.Reduced(1))

        assert self.client.decode({"k": stored}) == {"k": stored}
