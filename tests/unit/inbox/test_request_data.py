"""A request's data as people read it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter.inbox.rendering import environment
from temporal_adapter.inbox.request_data import Away, Listed, Tabled, Terms, Words, shown, summary

_DATA = environment().from_string('{% from "_data.html" import data %}{{ data(one | shown) }}')


def html_of(data: Any) -> str:
    return _DATA.render(one=data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("text", Words("text", "text")),
        ("", Words("(empty)", "nothing")),
        (None, Words("nothing", "nothing")),
        ([], Words("nothing", "nothing")),
        (True, Words("yes", "yes-no")),
        (False, Words("no", "yes-no")),
        (0, Words("0", "number")),
        (1.50, Words("1.5", "number")),
    ],
)
def test_what_has_no_parts_is_in_words(data: Any, words: Words) -> None:
    assert shown(data) == words


def test_an_object_is_terms_and_a_list_is_a_list() -> None:
    assert shown({"a": [1, "b"]}) == Terms((("a", Listed((Words("1", "number"), Words("b", "text")))),))


def test_objects_with_the_same_keys_are_a_table() -> None:
    table = shown([{"name": "pen", "price": 1}, {"name": "ink", "price": None}])
    assert table == Tabled(
        ("name", "price"),
        ((Words("pen", "text"), Words("1", "number")), (Words("ink", "text"), Words("nothing", "nothing"))),
    )


@pytest.mark.parametrize(
    "data", [[{"a": 1, "b": 2}], [{"a": 1, "b": 2}, {"b": 1, "a": 2}], [{"a": 1, "b": [1]}, {"a": 1, "b": 2}], [{}, {}]]
)
def test_other_lists_of_objects_are_none(data: Any) -> None:
    assert isinstance(shown(data), Listed)


def test_what_only_the_store_has_is_said_with_its_size() -> None:
    assert shown({"report": {"ref": "0" * 64, "size": 123456}}) == Terms((("report", Away(123456)),))
    assert "123,456 bytes" in html_of({"ref": "0" * 64, "size": 123456})


def test_what_is_too_deep_or_too_much_is_json_text() -> None:
    deep: Any = "end"
    for _ in range(150):
        deep = {"in": deep}
    assert "<pre>" in html_of(deep)
    assert "end" in html_of(deep)
    many = html_of({"rows": [{"x": place} for place in range(5000)]})
    assert many.count("<dl>") == 1
    assert "<pre>" in many


def test_a_text_that_is_too_long_is_cut_with_a_note() -> None:
    assert html_of("x" * 300_000).count("x") < 201_000
    assert "300,000 characters in all" in html_of("x" * 300_000)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=60, deadline=None)
@given(_JSON)
def test_any_json_is_shown_and_summed_up(data: Any) -> None:
    assert html_of(data).strip()
    assert len(summary(data)) <= 120


def test_data_is_never_more_than_text_on_the_page() -> None:
    evil = "</span><script>alert(1)</script>{{ 7 * 7 }}"
    html = html_of({evil: [evil, {evil: evil, "b": 1}], "t": [{evil: evil, "c": 1}, {evil: evil, "c": 2}]})
    assert "<script" not in html
    assert "49" not in html
    assert html.count("&lt;script&gt;") == 7


def test_a_summary_names_what_an_object_has() -> None:
    data = {"text": "Shall\nwe?", "count": 2, "lines": [1, 2], "ok": True, "more": {"a": 1}}
    assert summary(data) == "text: Shall we?, count: 2, lines: (2 entries), ok: yes, more: (1 entry)"
