"""Where a run stands in its graph, for drawings and for people who watch it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

from temporal_adapter import wire

from .dispatch import Dispatch
from .level import Level

ExecutorState = Literal["idle", "running", "waiting", "failed", "completed"]


def progress(root: Level, dispatch: Dispatch, waits: Callable[[wire.Request], bool]) -> wire.GraphProgress:
    """Return the graph of a run with the state of each executor, at every level of nesting.

    Args:
        root: The run's own workflow.
        dispatch: The deliveries under way.
        waits: Whether a request of the run waits for a response.
    """
    asked = Counter(one.source_executor_id for one in root.requests.values() if waits(one))
    return _of_level(root, asked, dispatch)


def _of_level(level: Level, asked: Counter[str], dispatch: Dispatch) -> wire.GraphProgress:
    running, failed = dispatch.at_work(level)
    executors: list[wire.ExecutorProgress] = []
    for executor_id in level.graph.executors:
        child = level.children.get(executor_id)
        inner = None if child is None else _of_level(child, Counter(_asked_in(child)), dispatch)
        state: ExecutorState = "idle"
        if executor_id in failed or _any(inner, "failed"):
            state = "failed"
        elif executor_id in running or (child is not None and child.caller is not None):
            state = "running"
        elif asked[executor_id]:
            state = "waiting"
        elif level.completed[executor_id]:
            state = "completed"
        executors.append(
            wire.ExecutorProgress(
                executor_id=executor_id,
                state=state,
                deliveries=level.completed[executor_id],
                pending_requests=asked[executor_id],
                workflow=inner,
            )
        )
    return wire.GraphProgress(
        name=level.graph.name,
        start_executor_id=level.graph.start_executor_id,
        iteration=level.iteration,
        executors=executors,
        edges=level.graph.edges,
    )


def _asked_in(level: Level) -> list[str]:
    return [one.source_executor_id for one in level.requests.values()]


def _any(inner: wire.GraphProgress | None, state: ExecutorState) -> bool:
    return inner is not None and any(one.state == state for one in inner.executors)
