"""An event of a streaming run may stand for many: each of them counts, and has an offset of its own."""

from __future__ import annotations

import pytest

from temporal_adapter import wire
from temporal_adapter.engine.journal import Journal


def test_each_of_many_counts() -> None:
    journal = _journal(None, 3, None)

    assert (journal.length, len(journal.events)) == (5, 3)


@pytest.mark.parametrize(("offset", "first", "skip"), [(0, 0, 0), (1, 1, 0), (2, 1, 1), (3, 1, 2), (4, 2, 0)], ids=str)
def test_a_page_begins_at_any_of_them(offset: int, first: int, skip: int) -> None:
    journal = _journal(None, 3, None)

    page = journal.page(offset, ended=True)

    assert (page.offset, page.events, page.skip, page.ended) == (offset, journal.events[first:], skip, True)


def test_the_last_page_is_empty() -> None:
    page = _journal(3).page(3, ended=True)

    assert (page.events, page.skip, page.ended) == ([], 0, True)


def test_an_offset_beyond_them_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 to 3"):
        _journal(3).page(4, ended=True)


def test_the_result_lists_each_output_that_is_inline_and_names_those_in_the_store() -> None:
    journal = Journal()
    stored = wire.Event(type="output", data=wire.Value(ref="0" * 64, size=9000, many=20))
    journal.merge([_output(2), stored, _output(None)])

    assert journal.result(1, "head").outputs == ["0", "1", {"ref": "0" * 64, "size": 9000, "many": 20}, "0"]


def _journal(*counts: int | None) -> Journal:
    journal = Journal()
    for many in counts:
        journal.emit(_output(many))
    return journal


def _output(many: int | None) -> wire.Event:
    inline = "0" if many is None else [str(number) for number in range(many)]
    return wire.Event(type="output", data=wire.Value(inline=inline, size=10, many=many))
