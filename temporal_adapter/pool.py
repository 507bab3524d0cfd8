"""Built graphs, kept for use again: building one costs up to milliseconds, and more where it makes clients and tools.

An attempt has its graph to itself while it runs, since an attempt that timed out may still be running beside its retry.
A graph whose attempt ended badly is dropped; one whose attempt ended well is put back in the state it was built in.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property

from agent_framework import Executor, Workflow, WorkflowExecutor
from agent_framework.observability import OBSERVABILITY_SETTINGS

from temporal_adapter import wire
from temporal_adapter.attributes import Attributes
from temporal_adapter.routing import Router
from temporal_adapter.values import Codec, graph_codec

_IDLE_GRAPHS = 32  # a bound on memory, above what one worker usually runs at a time for one workflow


class UnknownExecutor(LookupError):
    """A graph has no executor of this id."""


class BuiltGraph:
    """A MAF workflow with what the activities need of it."""

    def __init__(self, workflow: Workflow, codec: Codec, path: tuple[str, ...] = ()) -> None:
        self.workflow = workflow
        self.codec = codec  # of the outermost workflow: it knows the types of all
        self.path = path
        self.router = Router(workflow)
        self.attributes = {key: Attributes(executor, codec) for key, executor in workflow.executors.items()}
        self.children = {
            key: BuiltGraph(executor.workflow, codec, (*path, key))
            for key, executor in workflow.executors.items()
            if isinstance(executor, WorkflowExecutor)
        }

    def with_children(self) -> Iterator[BuiltGraph]:
        """Yield this graph and those of its sub-workflows, outermost first."""
        yield self
        for child in self.children.values():
            yield from child.with_children()

    def level(self, path: Sequence[str]) -> BuiltGraph:
        """Return the graph of a sub-workflow, by the path of the executor that wraps it; itself for no path.

        Raises:
            UnknownExecutor: There is no such sub-workflow.
        """
        graph = self
        for executor_id in path:
            graph.executor(executor_id)
            if executor_id not in graph.children:
                raise UnknownExecutor(f"Executor {executor_id!r} of {graph.workflow.name!r} wraps no sub-workflow.")
            graph = graph.children[executor_id]
        return graph

    def put_back(self) -> None:
        """Make every executor's attributes what they were when built."""
        for graph in self.with_children():
            for attributes in graph.attributes.values():
                attributes.put_back()

    @cached_property
    def input_codec(self) -> Codec:
        """The codec for what comes from outside: it reads no pickles."""
        return self.codec.without_pickle()

    def executor(self, executor_id: str) -> Executor:
        """Return an executor.

        Raises:
            UnknownExecutor: The graph has none of that id; names those it has.
        """
        try:
            return self.workflow.executors[executor_id]
        except KeyError:
            known = ", ".join(sorted(self.workflow.executors))
            raise UnknownExecutor(
                f"Workflow {self.workflow.name!r} has no executor {executor_id!r}; it has {known}."
            ) from None

    def description(self) -> wire.Graph:
        """Return what a run records of its graph when it starts."""
        return wire.Graph(
            name=self.workflow.name,
            signature=self.workflow.graph_signature_hash,
            start_executor_id=self.workflow.start_executor_id,
            executors=list(self.workflow.executors),
            max_iterations=self.workflow.max_iterations,
            shows_error_messages=OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED,
            fan_ins=self.router.fan_ins,
            children={key: child.description() for key, child in self.children.items()},
        )


class GraphPool:
    """The graphs of one MAF workflow on one worker."""

    def __init__(
        self, factory: Callable[[], Workflow], *, types: Iterable[type] = (), allow_pickle: bool = True
    ) -> None:
        self._factory = factory
        self._types = tuple(types)
        self._allow_pickle = allow_pickle
        self._idle: list[BuiltGraph] = []

    def build(self) -> BuiltGraph:
        """Build a graph. It is pristine: executors have states of their own, such as an agent's new session."""
        workflow = self._factory()
        return BuiltGraph(workflow, graph_codec(workflow, self._types, self._allow_pickle))

    @asynccontextmanager
    async def borrow(self, *, fresh: bool = False) -> AsyncGenerator[BuiltGraph, None]:
        """Lend a graph for one attempt; `fresh` builds a new one."""
        idle = self._idle.pop() if self._idle else None  # also when `fresh`: the new one takes its place
        graph = self.build() if fresh or idle is None else idle
        yield graph  # an exception leaves here, and the graph is dropped
        if len(self._idle) < _IDLE_GRAPHS:
            graph.put_back()
            self._idle.append(graph)
