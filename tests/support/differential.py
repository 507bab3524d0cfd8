"""The conformance kit in the words of this repository's own tests, which share a server and give input and answers.

    await assert_same(client, build_expense_approval, report, answers=lambda requests: {...})

What is compared, and how, is `temporal_adapter.testing`'s to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_framework import InMemoryCheckpointStorage, Workflow
from temporalio.client import Client

from temporal_adapter.testing import Answers, Observed, Script, in_process, on_temporal
from temporal_adapter.testing.difference import difference_of
from temporal_adapter.testing.observed import lineage

__all__ = [
    "Answers",
    "Observed",
    "assert_same",
    "difference_of",
    "lineage",
    "resume_in_process",
    "run_in_process",
    "run_on_temporal",
]

Factory = Callable[[], Workflow]


async def assert_same(
    client: Client, factory: Factory, message: Any, *, answers: Answers | None = None, stream: bool = False
) -> tuple[Observed, Observed]:
    """Assert that a run on Temporal does what a run in-process does; return both.

    Args:
        client: A Temporal client without the plugin.
        factory: Builds the graph. Its executors must be deterministic.
        message: The input.
        answers: Answers requests. Without it, the runs are compared up to their first pause.
        stream: Whether agents answer in updates.

    Raises:
        AssertionError: They differ; the message names the first difference.
    """
    script = Script(message, answers, stream=stream)
    expected = await in_process.run_in_process(factory, script)
    actual = await on_temporal.run_on_temporal(client, factory, script)
    difference = difference_of(expected, actual)
    assert difference is None, difference
    return expected, actual


async def run_in_process(
    factory: Factory,
    message: Any,
    answers: Answers | None = None,
    *,
    storage: InMemoryCheckpointStorage | None = None,
) -> Observed:
    """Run a graph with MAF's own runner and checkpoint storage."""
    return await in_process.run_in_process(factory, Script(message, answers), storage=storage)


async def resume_in_process(
    factory: Factory, storage: Any, checkpoint_id: str, answers: Answers | None = None
) -> Observed:
    """Resume a checkpoint of any storage with MAF's own runner; events of the rest of the run only."""
    return await in_process.resume_in_process(factory, storage, checkpoint_id, Script(None, answers))


async def run_on_temporal(
    client: Client, factory: Factory, message: Any, answers: Answers | None = None, **options: Any
) -> Observed:
    """Run a graph on a worker of its own in this process; `options` are those of the kit's function."""
    return await on_temporal.run_on_temporal(client, factory, Script(message, answers), **options)
