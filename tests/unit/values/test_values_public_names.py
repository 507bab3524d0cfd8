"""What a package of MAF's exports is stored under its public name, which survives MAF moving it between modules."""

from __future__ import annotations

import agent_framework
import agent_framework_declarative
import agent_framework_orchestrations
import pytest

from temporal_adapter.values import Codec, type_name

EXPORTED = [
    agent_framework.Message,
    agent_framework_orchestrations.MagenticPlanReviewRequest,
    agent_framework_declarative.ExternalInputRequest,
]


@pytest.mark.parametrize("cls", EXPORTED)
def test_an_exported_class_is_stored_under_its_public_name(cls: type) -> None:
    name = type_name(cls)

    assert name == f"{cls.__module__.partition('.')[0]}:{cls.__name__}"
    assert Codec().decode_type(name) is cls
