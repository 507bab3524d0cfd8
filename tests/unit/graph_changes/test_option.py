"""The plugin's argument `on_graph_change`: what it takes, and that it refuses everything else when it is made."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio import activity
from temporalio.common import RawValue

from temporal_adapter import AgentFrameworkPlugin, BlobStore
from temporal_adapter.definitions import ConfigurationError
from temporal_adapter.host import has_dynamic
from tests.support import renaming
from tests.support.graphs import chain


def plugin(on_graph_change: Any) -> AgentFrameworkPlugin:
    store = BlobStore("memory://")
    return AgentFrameworkPlugin([chain, renaming.after], checkpoint_store=store, on_graph_change=on_graph_change)


async def migrate_later(checkpoint: Any, workflow: Any, *, ticket: str = "") -> Any:
    return checkpoint


@pytest.mark.parametrize(
    "given",
    [
        "wait",
        "fail",
        renaming.migrate,
        migrate_later,
        functools.partial(migrate_later, ticket="OPS-7"),
        {},
        {"chain": "fail", "renaming": renaming.migrate},
        {"renaming": "wait"},
    ],
    ids=["wait", "fail", "function", "async", "partial", "none", "by-name", "some"],
)
def test_it_takes_what_is_to_be_done_for_all_workflows_or_by_their_names(given: Any) -> None:
    plugin(given)


MUST = 'must be "wait", "fail", or a function (checkpoint, workflow) -> checkpoint'


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("retry", f"on_graph_change {MUST}, not 'retry'."),
        (None, f"on_graph_change {MUST}, not None."),
        (True, f"on_graph_change {MUST}, not True."),
        (["wait"], f"on_graph_change {MUST}, not ['wait']."),
        (dict, f"on_graph_change {MUST}, not <class 'dict'>."),
        ({"chain": "retry"}, f"on_graph_change['chain'] {MUST}, not 'retry'."),
        (
            {"chains": "fail"},
            "on_graph_change names 'chains', and no workflow is called so. There are: 'chain', 'renaming'.",
        ),
    ],
    ids=["word", "None", "True", "list", "class", "word-by-name", "name"],
)
def test_anything_else_is_refused_with_what_it_takes(given: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        plugin(given)
    assert str(refused.value) == told


def test_a_function_that_cannot_be_called_so_is_refused_with_the_reason() -> None:
    def migrate(checkpoint: Any) -> Any:
        return checkpoint

    with pytest.raises(ConfigurationError, match=r"cannot be called so: too many positional arguments\."):
        plugin(migrate)


@activity.defn(dynamic=True)
async def anything(args: Sequence[RawValue]) -> None: ...


def test_a_dynamic_activity_of_the_users_own_is_left_alone() -> None:
    def dynamic(*own: Any) -> list[Any]:
        client = SimpleNamespace(config=lambda **_: {})
        config: Any = {"task_queue": "q", "client": client, "activities": list(own)}
        return [one for one in plugin("fail").configure_worker(config)["activities"] if has_dynamic([one])]

    assert dynamic(anything) == [anything]
    assert len(dynamic()) == 1
