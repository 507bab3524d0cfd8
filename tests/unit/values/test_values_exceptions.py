"""Exceptions survive with their arguments, attributes, notes, causes and members; tracebacks stay behind."""

from __future__ import annotations

import builtins
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from temporal_adapter.values import Codec, EncodeError
from tests.unit.values import samples
from tests.unit.values.samples import TYPES, through_json

CODEC = Codec(TYPES)
VALUES = (
    st.integers() | st.text() | st.binary() | st.tuples(st.dates(), st.floats(allow_nan=False)) | st.lists(st.none())
)
BUILTIN = st.sampled_from([ValueError, RuntimeError, LookupError, TimeoutError, samples.Explodes])


@st.composite
def exceptions(draw: st.DrawFn, depth: int = 3) -> BaseException:
    error: BaseException = draw(BUILTIN)(*draw(st.lists(VALUES, max_size=2)))
    if draw(st.booleans()):
        error = samples.Refused(draw(st.integers()), reason=draw(st.text()))
    if draw(st.booleans()):
        error.extra = draw(VALUES)  # type: ignore[attr-defined]
    if draw(st.booleans()):
        error.__notes__ = draw(st.lists(st.text(), max_size=2))  # type: ignore[attr-defined]
    if depth and draw(st.booleans()):
        link = draw(st.sampled_from(["__cause__", "__context__"]))
        setattr(error, link, draw(exceptions(depth=depth - 1)))
    return error


def shown(error: BaseException | None) -> Any:
    """What there is to see of an exception, all the way down."""
    if error is None:
        return None
    members = [shown(one) for one in getattr(error, "exceptions", ())]
    args = [shown(one) if isinstance(one, BaseException) else one for one in error.args if type(one) is not list]
    links = (shown(error.__cause__), shown(error.__context__), error.__suppress_context__)
    return type(error), args, str(error), vars(error), members, links


@given(exceptions())
def test_an_exception_survives_with_what_led_to_it(error: BaseException) -> None:
    assert shown(through_json(CODEC, error)) == shown(error)


def raised(*errors: BaseException, explicit: bool = True) -> BaseException:
    """Return the last error, raised because of the one before it, and so on."""
    previous: BaseException | None = None
    for error in errors:
        if previous is not None and explicit:
            error.__cause__ = previous
        error.__context__ = previous
        previous = error
    assert previous is not None
    return previous


def test_a_cause_is_stored_once_though_it_is_the_context_as_well() -> None:
    error = raised(*(ValueError(number) for number in range(30)))

    encoded = CODEC.encode(error)

    assert "context" not in encoded
    assert repr(through_json(CODEC, error).__cause__.__cause__) == "ValueError(27)"


def test_a_context_that_was_suppressed_is_left_behind() -> None:
    error = raised(KeyError("a"), ValueError("b"), explicit=False)
    error.__suppress_context__ = True

    assert through_json(CODEC, error).__context__ is None


def test_a_cause_that_cannot_be_stored_is_left_behind_and_the_exception_is_not() -> None:
    class Foreign(Exception):
        pass

    restored = through_json(CODEC, raised(Foreign("of a library"), ValueError("b")))

    assert (restored.args, restored.__cause__) == (("b",), None)
    with pytest.raises(EncodeError, match="Foreign cannot be stored"):
        CODEC.encode(Foreign("itself"))


def test_a_cause_whose_class_is_gone_does_not_make_the_exception_unreadable() -> None:
    encoded = CODEC.encode(raised(samples.Explodes("a"), ValueError("b")))

    assert Codec().decode(encoded).args == ("b",)


def test_causes_that_lead_back_are_cut_where_they_do() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first

    restored = through_json(CODEC, first)

    assert (str(restored), str(restored.__cause__), restored.__cause__.__cause__) == ("first", "second", None)


@pytest.mark.parametrize(
    "error",
    [NameError("x", name="n"), AttributeError("x", name="n", obj=object()), ImportError("i", name="a", path="b")],
    ids=lambda error: type(error).__name__,
)
def test_the_name_that_was_missing_survives(error: Any) -> None:
    restored = through_json(CODEC, error)

    assert (restored.name, getattr(restored, "path", None)) == (error.name, getattr(error, "path", None))


GROUP: Any = getattr(builtins, "ExceptionGroup", None)  # Python 3.10 has none


if GROUP is not None:

    class Several(GROUP):
        """A group of a user's own type."""

    GROUPS = st.builds(
        lambda cls, text, errors: cls(text, errors),
        st.sampled_from([GROUP, Several]),
        st.text(),
        st.lists(exceptions(), min_size=1, max_size=3),
    )

    @given(GROUPS)
    def test_a_group_survives_with_its_members(group: Any) -> None:
        group.add_note("seen at noon")

        restored = through_json(Codec({**TYPES, "several": Several}), group)

        assert restored.message == group.message
        assert shown(restored) == shown(group)
