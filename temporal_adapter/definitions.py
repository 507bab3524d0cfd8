"""The MAF workflows a worker is given, checked before anything is registered."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent_framework import AgentSession, Workflow, WorkflowExecutor

from temporal_adapter.wire.names import executor_activity_type


class ConfigurationError(ValueError):
    """A workflow or an option the plugin cannot work with; the message says what to change."""


WorkflowSource = Callable[[], Workflow] | Workflow
"""A factory that builds the workflow, or a built one that can be copied."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A MAF workflow that can be built again and again."""

    name: str
    factory: Callable[[], Workflow]
    executor_paths: list[tuple[str, ...]]  # one id per level of nesting

    @property
    def activity_types(self) -> list[str]:
        """The activity types of its executors."""
        return [executor_activity_type(self.name, path) for path in self.executor_paths]

    @property
    def outermost_activity_types(self) -> list[str]:
        """Those of the workflow's own executors, whose requests people see."""
        return [executor_activity_type(self.name, path) for path in self.executor_paths if len(path) == 1]


def define(sources: Iterable[WorkflowSource]) -> list[Definition]:
    """Return the definitions of the workflows, in order.

    Raises:
        ConfigurationError: A source is no workflow, builds a different graph each time, or has no name of its own; or
            two have the same name.
    """
    definitions: list[Definition] = []
    for source in sources:
        definition = _define(source)
        if any(definition.name == other.name for other in definitions):
            raise ConfigurationError(
                f"Two workflows are called {definition.name!r}. A name is a Temporal workflow type: give each its own, "
                "by WorkflowBuilder(name=...)."
            )
        definitions.append(definition)
    if not definitions:
        raise ConfigurationError("No workflow was given. Pass factories: AgentFrameworkPlugin(workflows=[build_it]).")
    return definitions


def _define(source: WorkflowSource) -> Definition:
    factory = _copies_of(source) if isinstance(source, Workflow) else source
    label = getattr(source, "__qualname__", None) or repr(source)
    first, second = _build(factory, label), _build(factory, label)
    if first is second:
        raise ConfigurationError(
            f"The factory {label} returns the same Workflow object each time, and runs would share its executors. "
            "Build the workflow inside the factory."
        )
    if first.name != second.name or first.name.startswith("WorkflowBuilder-"):
        raise ConfigurationError(
            f"The workflow that {label} builds has the auto-generated name {first.name!r}. "
            "A name is a Temporal workflow type and must stay the same: WorkflowBuilder(name='...')."
        )
    if first.graph_signature_hash != second.graph_signature_hash:
        raise ConfigurationError(
            f"Two builds of workflow {first.name!r} differ in their graph: {_difference(first, second)}. "
            "Executor ids must be the same in every build and process: give each executor an id and each agent a name."
        )
    _check_sessions(first)
    return Definition(first.name, factory, list(_executor_paths(first)))


def _check_sessions(workflow: Workflow) -> None:
    owners: dict[int, str] = {}
    for executor in workflow.get_executors_list():
        for value in vars(executor).values():
            owner = owners.setdefault(id(value), executor.id) if isinstance(value, AgentSession) else executor.id
            if owner != executor.id:
                raise ConfigurationError(
                    f"Executors {owner!r} and {executor.id!r} of workflow {workflow.name!r} share one AgentSession. On "
                    "Temporal each executor's state is its own, so neither would hear what the other's agent was told. "
                    "Give each its own session, and pass the conversation on in messages: an AgentExecutorResponse "
                    "carries all of it."
                )


def _executor_paths(workflow: Workflow, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for executor_id, executor in workflow.executors.items():
        yield (*path, executor_id)
        if isinstance(executor, WorkflowExecutor):
            yield from _executor_paths(executor.workflow, (*path, executor_id))


def _build(factory: Callable[[], Any], label: str) -> Workflow:
    if not callable(factory):
        raise ConfigurationError(f"{label} is neither a Workflow nor a factory that builds one.")
    built = factory()
    if inspect.isawaitable(built):
        raise ConfigurationError(
            f"The factory {label} is async. A factory is a plain function that returns a Workflow."
        )
    if not isinstance(built, Workflow):
        raise ConfigurationError(
            f"The factory {label} returned {type(built).__name__}, not a Workflow; does it miss .build()?"
        )
    return built


def _copies_of(workflow: Workflow) -> Callable[[], Workflow]:
    try:
        pristine = copy.deepcopy(workflow)
    except Exception as error:
        raise ConfigurationError(
            f"Workflow {workflow.name!r} was given built, and cannot be copied for each activity "
            f"({type(error).__name__}: {error}). Pass the function that builds it instead."
        ) from error
    return lambda: copy.deepcopy(pristine)


def _difference(first: Workflow, second: Workflow) -> str:
    ids = sorted(set(first.executors) ^ set(second.executors))
    if ids:
        return f"executor ids {', '.join(map(repr, ids))}"
    return "edges, conditions or executor types"


def unknown_activity_types(names: Iterable[str], definitions: Sequence[Definition]) -> tuple[list[str], list[str]]:
    """Return which names are no executor's activity type, and all that are."""
    known = [activity_type for definition in definitions for activity_type in definition.activity_types]
    return [name for name in names if name not in known], known
