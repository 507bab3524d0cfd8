"""What may be left out of an object does not take the object with it, nor fill it with copies, when it leads back."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

import pytest
from agent_framework import Annotation, Content, Message

from temporal_adapter.values import Codec
from tests.unit.values.samples import through_json


class Node:
    def __init__(self) -> None:
        self.name = "root"

    @functools.cached_property
    def root(self) -> Node:
        return self

    @functools.cached_property
    def ancestors(self) -> list[Node]:
        return [self]


@dataclasses.dataclass
class Raw:
    message: Any = None
    raw: Any = None


CODEC = Codec({"node": Node, "raw": Raw})


@pytest.mark.parametrize("derived", ["root", "ancestors"])
def test_a_cached_property_that_leads_back_is_left_out(derived: str) -> None:
    node = Node()
    assert getattr(node, derived)

    assert vars(through_json(CODEC, node)) == {"name": "root"}


def test_a_raw_representation_that_leads_back_is_left_out_at_once() -> None:
    message = Message("user", ["hi"])
    message.raw_representation = Raw(message)

    encoded = CODEC.encode(message)

    assert encoded["fields"]["raw_representation"] is None
    assert len(json.dumps(encoded)) < 1000


def test_a_raw_representation_of_an_annotation_that_leads_back_is_left_out() -> None:
    content = Content.from_text("hi", annotations=[Annotation(title="t")])
    content.annotations[0]["raw_representation"] = Raw(content)  # type: ignore[index]

    assert through_json(CODEC, content).annotations == [{"title": "t", "raw_representation": None}]


def test_what_is_held_twice_and_does_not_lead_back_is_kept() -> None:
    shared = Raw("shared")
    message = Message("user", ["hi"], raw_representation=[shared, shared, Raw(raw=shared)])

    assert through_json(CODEC, message).raw_representation == [shared, shared, Raw(raw=shared)]
