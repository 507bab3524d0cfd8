"""Workflow ids and request ids in addresses: any id comes back, and a browser leaves the address as it is."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from temporal_adapter.inbox.paths import id_of, part, request_path


@given(st.text(min_size=1).filter(lambda text: text.isprintable() or text.isascii()))
@example("..")
@example(".")
@example("~..")
@example("~~.")
@example("a/b?c#d%2F%")
@example("../../etc/passwd")
@example("\x00\r\n")
def test_an_id_comes_back_from_its_part_of_a_path(id: str) -> None:
    made = part(id)
    assert id_of(made) == id
    assert re.fullmatch(r"[A-Za-z0-9_.~%-]+", made)
    assert unquote(made) not in (".", "..")  # which browsers take for directories, however they are encoded


@pytest.mark.parametrize(
    ("workflow_id", "path"), [("order-7", "/runs/order-7/requests/r"), ("a/b", "/runs/a%2Fb/requests/r")]
)
def test_a_request_has_its_own_path(workflow_id: str, path: str) -> None:
    assert request_path(workflow_id, "r") == path
