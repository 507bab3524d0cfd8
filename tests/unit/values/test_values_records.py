"""Objects with named parts survive the codec, and none of their code runs."""

from __future__ import annotations

import dataclasses
import functools
import threading
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.values import Codec, EncodeError
from tests.unit.values import samples
from tests.unit.values.samples import TYPES, Plain, through_json
from tests.unit.values.strategies import RECORDS

CODEC = Codec(TYPES)


@given(RECORDS)
def test_a_record_survives_with_its_exact_type(record: Any) -> None:
    restored = through_json(CODEC, record)

    assert type(restored) is type(record)
    assert restored == record


@given(st.recursive(RECORDS, lambda inner: st.builds(samples.Frozen, inner, st.lists(inner, max_size=2)), max_leaves=5))
def test_records_within_records_survive(record: Any) -> None:
    assert through_json(CODEC, record) == record


def test_a_dataclass_is_built_without_running_its_code() -> None:
    note = samples.NeverInitialised(1)
    note.value = 13

    assert through_json(CODEC, note).value == 13


def test_a_dataclass_keeps_attributes_beside_its_fields_and_lacks_what_it_lacked() -> None:
    note = samples.Note("text")
    note.cache = {1}  # type: ignore[attr-defined]
    del note.length

    restored = through_json(CODEC, note)

    assert vars(restored) == {"text": "text", "tags": [], "cache": {1}}


def test_a_model_is_built_without_validation() -> None:
    model = samples.Strict.model_construct(code="forbidden")

    assert through_json(CODEC, model).code == "forbidden"


def test_a_model_keeps_extra_private_and_set_fields() -> None:
    order = samples.Order(id="1", colour=samples.Colour.GREEN, more={"$": (1,)})
    order._seen = 5

    restored = through_json(CODEC, order)

    assert restored == order
    assert restored.model_fields_set == {"id", "colour", "more"}
    assert restored.model_extra == {"more": {"$": (1,)}}
    assert restored.__pydantic_private__ == {"_seen": 5}


def test_a_subclass_in_a_field_of_its_base_type_survives() -> None:
    order = samples.Order(id="1", lines=[samples.PricedLine(name="a", price=7)])

    restored = through_json(CODEC, order)

    assert type(restored.lines[0]) is samples.PricedLine
    assert restored.lines[0].price == 7


def test_a_cached_property_is_kept_when_it_can_be_stored_and_dropped_when_not() -> None:
    order = samples.Order(id="1", lines=[samples.Line(name="a", amount=2.5)])
    assert order.total == 2.5

    assert vars(through_json(CODEC, order))["total"] == 2.5

    order.__dict__["total"] = threading.Lock()
    assert "total" not in vars(through_json(CODEC, order))


def test_a_parametrized_model_comes_back_as_the_same_class() -> None:
    box = samples.Box[list[samples.Line]](content=[samples.PricedLine(name="a")])

    restored = through_json(CODEC, box)

    assert type(restored) is samples.Box[list[samples.Line]]
    assert type(restored.content[0]) is samples.PricedLine


def test_pydantic_urls_and_secrets_survive() -> None:
    contact = samples.Contact(site="https://example.org/a", secret="s3cret")  # type: ignore[arg-type]

    restored = through_json(CODEC, contact)

    assert restored == contact
    assert restored.secret.get_secret_value() == "s3cret"


def test_an_exception_keeps_arguments_attributes_and_notes() -> None:
    error = samples.Refused(7, reason="policy")
    error.__notes__ = ["seen at noon"]  # type: ignore[attr-defined]

    restored = through_json(CODEC, error)

    assert type(restored) is samples.Refused
    assert (restored.args, vars(restored)) == (error.args, vars(error))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a", 1),
        KeyError("k"),
        FileNotFoundError(2, "No such file", "name"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        ImportError("no", name="module", path="path"),
        StopIteration(5),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_builtin_exceptions_survive(error: BaseException) -> None:
    restored = through_json(CODEC, error)

    assert (type(restored), restored.args, str(restored)) == (type(error), error.args, str(error))
    for name in ("filename", "object", "name", "path", "value"):
        assert getattr(restored, name, None) == getattr(error, name, None)


def test_slots_mangled_names_and_dict_survive_together() -> None:
    value = samples.SlotsAndDict([1], "b")

    restored = through_json(CODEC, value)

    assert (restored.a, restored.b, restored.hidden) == ([1], "b", "b")


def test_a_class_that_says_what_its_state_is_is_believed() -> None:
    assert through_json(CODEC, samples.OwnState({"k": (1,)})) == samples.OwnState({"k": (1,)})


def test_subclasses_of_builtin_containers_keep_content_and_attributes() -> None:
    basket = samples.Basket([1, (2,)])
    basket.owner = "me"
    index = samples.Index({"a": {1}})

    restored = through_json(CODEC, [basket, index])

    assert restored == [basket, index]
    assert [type(item) for item in restored] == [samples.Basket, samples.Index]
    assert restored[0].owner == "me"


def test_what_reduces_in_its_own_way_travels_as_a_pickle_unless_turned_off() -> None:
    value = samples.Reduced((1, 2))

    assert CODEC.encode(value)["$"] == "pickle"
    assert through_json(CODEC, value) == value
    with pytest.raises(EncodeError, match="pickling is turned off"):
        Codec(TYPES, allow_pickle=False).encode(value)


def test_a_pickle_that_holds_something_untrusted_fails_when_stored() -> None:
    with pytest.raises(EncodeError, match=r"samples:Unknown is neither declared"):
        CODEC.encode(samples.Reduced(samples.Unknown()))


def test_a_dataclass_with_a_state_of_its_own_is_believed() -> None:
    @dataclasses.dataclass
    class Guarded:
        value: int
        lock: Any = None

        def __getstate__(self) -> dict[str, Any]:
            return {"value": self.value}

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.value, self.lock = state["value"], "made anew"

    codec = Codec({"app:Guarded": Guarded})

    assert through_json(codec, Guarded(1, threading.Lock())) == Guarded(1, "made anew")


def test_the_error_names_the_path_the_type_and_the_way_out() -> None:
    report = samples.Frozen(a={"items": [1, 2, Plain(a=(samples.Unknown(),))]})

    with pytest.raises(EncodeError) as caught:
        CODEC.encode(report, "report")

    assert str(caught.value) == (
        "report.a['items'][2].a[0]: type tests.unit.values.samples:Unknown cannot be stored. Register it with "
        "agent_framework.register_checkpoint_type, declare it as a message type of an executor, or do not put it in "
        "a message, state or executor attribute."
    )


@pytest.mark.parametrize(
    "value", [print, lambda: None, threading.Lock(), threading, (x for x in ()), functools.partial(print), open]
)
def test_what_belongs_to_the_process_is_refused(value: Any) -> None:
    with pytest.raises(EncodeError, match=r"^k\[0\]: type .* cannot be stored"):
        CODEC.encode([value], "k")


def test_a_cycle_is_an_error_that_names_where_it_starts() -> None:
    cyclic = Plain(a=[])
    cyclic.a.append(cyclic)

    with pytest.raises(EncodeError, match=r"^state\.a\[0\]\.a\[0\].*this Plain contains itself"):
        CODEC.encode(cyclic, "state")


def test_nesting_beyond_the_limit_is_an_error_and_below_it_survives() -> None:
    def nested(levels: int) -> Any:
        value: Any = 0
        for _ in range(levels):
            value = samples.Frozen(value)
        return value

    assert through_json(CODEC, nested(150)) == nested(150)
    with pytest.raises(EncodeError, match="more than 150 levels"):
        CODEC.encode(nested(151))


def test_one_untrusted_class_does_not_spoil_the_next_object() -> None:
    for _ in range(2):
        with pytest.raises(EncodeError):
            CODEC.encode([samples.Unknown()])
    assert through_json(CODEC, [1]) == [1]


def test_a_field_that_holds_a_class_survives() -> None:
    class Holder(pydantic.BaseModel):
        kind: Any

    codec = Codec({**TYPES, "app:Holder": Holder})

    assert through_json(codec, Holder(kind=list[samples.Line])).kind == list[samples.Line]


def test_a_model_with_aliases_keeps_hidden_and_private_values_and_computes_the_rest() -> None:
    model = samples.Aliased(theName="a", hidden="h").keep((1,))

    restored = through_json(CODEC, model)

    assert (restored, restored.hidden, restored.shouted) == (model, "h", "A")
    assert restored.__pydantic_private__ == model.__pydantic_private__


@pytest.mark.parametrize("name", ["\ud83d", "a\udfff"])
def test_an_attribute_whose_name_is_no_text_is_refused(name: str) -> None:
    value = Plain(1)
    setattr(value, name, 2)

    with pytest.raises(EncodeError, match="is not Unicode text"):
        CODEC.encode(value)
