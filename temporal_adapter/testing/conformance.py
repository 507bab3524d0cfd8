"""The public assertion: a user's graph does on Temporal what it does in-process. Explains why where it does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

from agent_framework import Executor, Workflow, WorkflowExecutor
from temporalio.client import Client

from .difference import difference_of
from .in_process import run_in_process
from .observed import Observed
from .on_temporal import run_on_temporal
from .script import Script, UnfitForComparison, check_answers_used
from .server import local_server

_TWICE = ("in one in-process run", "in another")


async def assert_same_as_in_process(
    factory: Callable[[], Workflow],
    script: Script,
    *,
    client: Client | None = None,
    types: Iterable[type] = (),
    allow_pickle: bool = True,
) -> tuple[Observed, Observed]:
    """Assert that a graph does on Temporal what it does in-process; return what both runs showed.

    The graph runs twice with MAF's own runner, and once on a real Temporal server with a worker in this process and a
    blob store in memory. Compared are the final error, outputs, status timeline, events, pending requests, final state
    and the whole checkpoint lineage. Executors run for real, three times each, with their side effects. An executor
    that fails is not retried.

    Args:
        factory: Builds the graph, a new one at each call. Its executors must be deterministic.
        script: The input, and the answers to requests.
        client: A Temporal client without the plugin; without one, a dev server is started for this comparison.
        types: As for `AgentFrameworkPlugin`.
        allow_pickle: As for `AgentFrameworkPlugin`.

    Raises:
        AssertionError: The runs differ; the message names the first difference.
        UnfitForComparison: There is nothing to hold Temporal to: two in-process runs differ already, two builds share
            executors, or the script's answers do not fit.
        NoServer: No client was given, and there is no `temporal` program.
    """
    in_process = await _reference(factory, script)
    async with _connected(client) as connected:
        on_temporal = await run_on_temporal(connected, factory, script, types=types, allow_pickle=allow_pickle)
    difference = difference_of(in_process, on_temporal)
    if difference is not None:
        raise AssertionError(
            f"Workflow {factory().name!r} does not do on Temporal what it does in-process.\n"
            f"First difference: {difference}\n"
            "On Temporal executors share nothing but messages, and shared state as it was before the superstep: each "
            "delivery runs on a graph of its own, perhaps in another process (docs/differences.md)."
        )
    return in_process, on_temporal


@asynccontextmanager
async def _connected(client: Client | None) -> AsyncGenerator[Client, None]:
    if client is not None:
        yield client
        return
    async with local_server() as started:
        yield started


async def _reference(factory: Callable[[], Workflow], script: Script) -> Observed:
    """Run in-process twice, and see that the two runs are alike."""
    _check_builds(factory)
    first, second = await run_in_process(factory, script), await run_in_process(factory, script)
    check_answers_used(script, first)
    difference = difference_of(first, second, sides=_TWICE)
    if difference is not None:
        raise UnfitForComparison(
            f"Two in-process runs of workflow {factory().name!r} differ already, so that there is nothing to hold "
            f"Temporal to.\nFirst difference: {difference}\n"
            "Executors must be deterministic here: no clock, no random numbers, nothing kept outside of the graph."
        )
    return first


def _check_builds(factory: Callable[[], Workflow]) -> None:
    first, second = factory(), factory()
    if first is second:
        raise UnfitForComparison(
            "The factory returns the same Workflow object each time, and the runs would share its executors. Build "
            "the workflow inside the factory."
        )
    shared = [path for path, executor in _executors(first) if any(executor is one for _, one in _executors(second))]
    if shared:
        raise UnfitForComparison(
            f"Two builds of workflow {first.name!r} share executors, which would carry state from run to run: "
            f"{', '.join(shared)}. Make the executors inside the factory."
        )


def _executors(workflow: Workflow, path: str = "") -> list[tuple[str, Executor]]:
    found: list[tuple[str, Executor]] = []
    for executor_id, executor in workflow.executors.items():
        found.append((f"{path}{executor_id}", executor))
        if isinstance(executor, WorkflowExecutor):
            found += _executors(executor.workflow, f"{path}{executor_id}/")
    return found
