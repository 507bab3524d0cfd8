"""Where the messages an executor sent go, decided by MAF's own edge runners with execution replaced by recording.

Each condition, selection function, switch case and type check runs once, here, in the activity of the executor that
sent the message; the workflow replays the recorded decision. Nothing here runs an executor or holds a message back:
what a fan-in has buffered is the engine's to know.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, cast

from agent_framework import Executor, InProcRunnerContext, Workflow, WorkflowMessage

from temporal_adapter import wire
from temporal_adapter.failures import failure_of
from temporal_adapter.maf import FAN_IN_BUFFER_KEY, EdgeRunner, FanInEdgeRunner, State, create_edge_runner


@dataclass(frozen=True, slots=True)
class Batch:
    """A complete fan-in: what its target is to be given."""

    executor_id: str
    source_ids: list[str]
    message: WorkflowMessage


class _RecordingTarget:
    """Stands in for an executor before an edge runner: answers what it can handle, records what it is given."""

    def __init__(self, executor: Executor, given: list[Batch]) -> None:
        self._executor = executor
        self._given = given

    def can_handle(self, message: WorkflowMessage) -> bool:
        return self._executor.can_handle(message)

    async def execute(self, message: WorkflowMessage, source_ids: list[str], *_: Any, **__: Any) -> None:
        self._given.append(Batch(self._executor.id, list(source_ids), message))


class Router:
    """The edge groups of one graph. Not for concurrent use: an attempt has its graph to itself."""

    def __init__(self, workflow: Workflow) -> None:
        self._given: list[Batch] = []
        targets = {key: _RecordingTarget(executor, self._given) for key, executor in workflow.executors.items()}
        self._by_source: defaultdict[str, list[EdgeRunner]] = defaultdict(list)
        self._fan_ins: dict[str, FanInEdgeRunner] = {}
        self.fan_ins: dict[str, wire.FanIn] = {}
        for group in workflow.edge_groups:
            # The stand-ins have all that an edge runner asks of an executor.
            runner = create_edge_runner(group, cast("dict[str, Executor]", targets))
            for source_id in group.source_executor_ids:
                self._by_source[source_id].append(runner)
            if isinstance(runner, FanInEdgeRunner):
                self._fan_ins[runner.state_key] = runner
                self.fan_ins[runner.state_key] = wire.FanIn(
                    sources=[edge.source_id for edge in group.edges], target=group.edges[0].target_id
                )

    async def route(self, message: WorkflowMessage) -> list[wire.Route]:
        """Return what each edge group of the message's source decides; a group that drops it has no entry."""
        decided: list[wire.Route] = []
        for index, runner in enumerate(self._by_source.get(message.source_id, [])):
            self._given.clear()
            runner.restore_state(None)
            try:
                await runner.send_message(message, State(), InProcRunnerContext())
            except Exception as error:
                decided.append(wire.Route(group=index, error=failure_of(error)))
                continue
            if isinstance(runner, FanInEdgeRunner) and runner.snapshot_state() is not None:
                decided.append(wire.Route(group=index, fan_in=runner.state_key))
            elif self._given:
                targets = [given.executor_id for given in self._given]
                decided.append(wire.Route(group=index, targets=targets, source_ids=self._given[0].source_ids))
        return decided

    async def aggregate(self, fan_in: str, messages: list[WorkflowMessage]) -> Batch:
        """Return what a complete fan-in gives its target; `messages` are in order of arrival.

        Raises:
            ValueError: The graph has no such fan-in, or its target no longer takes the messages.
        """
        runner = self._fan_ins.get(fan_in)
        if runner is None:
            raise ValueError(f"The graph has no fan-in {fan_in}; it has {', '.join(self._fan_ins) or 'none'}.")
        self._given.clear()
        buffered: defaultdict[str, list[WorkflowMessage]] = defaultdict(list)
        for message in messages[:-1]:
            buffered[message.source_id].append(message)
        runner.restore_state({FAN_IN_BUFFER_KEY: dict(buffered)})
        await runner.send_message(messages[-1], State(), InProcRunnerContext())
        runner.restore_state(None)
        if not self._given:
            raise ValueError(f"Fan-in {fan_in} did not fire on its complete batch; has the graph changed?")
        return self._given.pop()
