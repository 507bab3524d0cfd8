"""Built graphs, kept for use again: building one costs up to milliseconds, and more where it makes clients and tools.

An attempt has its graph to itself while it runs, since an attempt that timed out may still be running beside its retry.
A graph whose attempt ended badly is dropped; one whose attempt ended well is put back in the state it was built in.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

from agent_framework import Executor, Workflow, WorkflowExecutor
from agent_framework.observability import OBSERVABILITY_SETTINGS

from temporal_adapter import wire
from temporal_adapter.attributes import FRAMEWORK_ATTRIBUTES, Attributes
from temporal_adapter.pristine import Pristine
from temporal_adapter.routing import Router
from temporal_adapter.values import Codec, graph_codec

_UNNAMED = uuid.UUID("1f0f3c2e-6c1b-4f6e-9f67-0f2b9b6d1f7e")  # namespace of the names of sub-workflows without one
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

    def remember(self, **rules: Any) -> Pristine:
        """Remember the graph's objects as they are now; `rules` are further arguments of `Pristine`."""
        executors = [executor for graph in self.with_children() for executor in graph.workflow.executors.values()]
        self._pristine = Pristine(executors, FRAMEWORK_ATTRIBUTES, **rules)
        for graph in self.with_children():
            for attributes in graph.attributes.values():
                attributes.watch(self._pristine.changed)
        return self._pristine

    def put_back(self) -> None:
        """Make the graph's objects what they were when remembered."""
        self._pristine.put_back()
        for graph in self.with_children():
            for attributes in graph.attributes.values():
                attributes.forget()

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
        executors = self.workflow.executors
        groups = [  # not the one by which an input comes in
            group for group in self.workflow.edge_groups if all(edge.source_id in executors for edge in group.edges)
        ]
        return wire.Graph(
            name=_stable_name(self.workflow),
            signature=self.workflow.graph_signature_hash,
            start_executor_id=self.workflow.start_executor_id,
            executors=list(executors),
            max_iterations=self.workflow.max_iterations,
            shows_error_messages=OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED,
            fan_ins=self.router.fan_ins,
            children={key: child.description() for key, child in self.children.items()},
            edges=[
                wire.GraphEdge(
                    source=edge.source_id,
                    target=edge.target_id,
                    kind=type(group).__name__,
                    condition=edge.condition_name,
                )
                for group in groups
                for edge in group.edges
            ],
            groups=[
                wire.EdgeGroup(size=len(group.edges), selection=getattr(group, "selection_func_name", None))
                for group in groups
            ],
            catching=[key for key in self.children if type(executors[key]) is not WorkflowExecutor],
            classes=self._classes(),
        )

    def _classes(self) -> dict[str, list[str]]:
        """Return the ids of the executors of each class, which is called as in MAF's signature of the graph."""
        by_class: dict[str, list[str]] = {}
        for key, executor in self.workflow.executors.items():
            by_class.setdefault(f"{type(executor).__module__}.{type(executor).__name__}", []).append(key)
        return by_class


def _stable_name(workflow: Workflow) -> str:
    """Return a workflow's name. One that was given none has, with MAF, another name each time it is built."""
    if not workflow.name.startswith("WorkflowBuilder-"):
        return workflow.name
    return f"WorkflowBuilder-{uuid.uuid5(_UNNAMED, workflow.graph_signature_hash)}"


class GraphPool:
    """The graphs of one MAF workflow on one worker."""

    def __init__(
        self, factory: Callable[[], Workflow], *, types: Iterable[type] = (), allow_pickle: bool = True
    ) -> None:
        self._factory = factory
        self._types = tuple(types)
        self._allow_pickle = allow_pickle
        self._idle: list[BuiltGraph] = []
        self._own = [getattr(getattr(factory, "func", factory), "__module__", "")]  # func: of a functools.partial
        self._shared: list[Any] | None = None

    def build(self) -> BuiltGraph:
        """Build a graph. It is pristine: executors have states of their own, such as an agent's new session."""
        if self._shared is None:
            self._shared = self._shared_by_builds()
        graph = self._built()
        graph.remember(own=self._own, shared=self._shared)
        return graph

    def _built(self) -> BuiltGraph:
        workflow = self._factory()
        return BuiltGraph(workflow, graph_codec(workflow, self._types, self._allow_pickle))

    def _shared_by_builds(self) -> list[Any]:
        """Return the objects that two builds have in common: they belong to the process."""
        first, second = (self._built().remember(own=self._own).objects for _ in range(2))
        known = {id(one) for one in first}
        return [one for one in second if id(one) in known]

    @asynccontextmanager
    async def borrow(self, *, fresh: bool = False) -> AsyncGenerator[BuiltGraph, None]:
        """Lend a graph for one attempt; `fresh` builds a new one."""
        idle = self._idle.pop() if self._idle else None  # also when `fresh`: the new one takes its place
        graph = self.build() if fresh or idle is None else idle
        yield graph  # an exception leaves here, and the graph is dropped
        if len(self._idle) < _IDLE_GRAPHS:
            graph.put_back()
            self._idle.append(graph)
