"""Carrying a checkpoint to a changed graph: what a migration function is, and helpers that make a common one a line.

    from temporal_adapter.migration import renamed

    def migrate(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
        return renamed(checkpoint, {"book": "post-to-ledger"})

The helpers change MAF's `WorkflowCheckpoint` that they are given and nothing else: no store, no graph, no run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Literal, cast

from agent_framework import (
    INTERNAL_SOURCE_ID,
    AgentExecutorResponse,
    Workflow,
    WorkflowCheckpoint,
    WorkflowEvent,
    WorkflowInvocationKwargs,
    WorkflowMessage,
)

from temporal_adapter.maf import (
    EDGE_STATE_KEY,
    EXECUTOR_STATE_KEY,
    FAN_IN_BUFFER_KEY,
    RESOLVED_WORKFLOW_RUN_KWARGS_KEY,
    ROUTED_WORKFLOW_RUN_KWARGS_KEY,
    SUB_WORKFLOW_CHECKPOINT_KEY,
    WORKFLOW_RUN_KWARGS_KEY,
    edge_state_key,
)

Migration = Callable[[WorkflowCheckpoint, Workflow], WorkflowCheckpoint | Awaitable[WorkflowCheckpoint]]
"""Turns a checkpoint of another graph into one of this workflow's. It may be async, and may change what it is given.

The same checkpoint may come to it more than once, so it must do nothing else. What it raises leaves the run as it was.
"""

OnGraphChange = Literal["wait", "fail"] | Migration
"""What becomes of a run whose graph is another one than the worker's: it waits for a worker that has its graph, fails,
or is migrated to the worker's graph at its last checkpoint."""

ATTRIBUTES_KEY = "temporal_adapter:attributes"
"""In the state of an executor without checkpoint hooks, as migrations see it: what its handlers changed of its
attributes, `{"changed": {name: value}, "deleted": [name]}`. MAF has no place for it."""

Messages = dict[str, list[WorkflowMessage]]


def unchanged(checkpoint: WorkflowCheckpoint, workflow: Workflow) -> WorkflowCheckpoint:
    """Return a checkpoint as it is: for a graph that differs in nothing that is in it, such as an added edge."""
    return checkpoint


def renamed(
    checkpoint: WorkflowCheckpoint, names: Mapping[str, str], *, within: Sequence[str] = ()
) -> WorkflowCheckpoint:
    """Give executors other ids: in their state, in messages in flight and fan-ins, in requests and in run kwargs.

    Args:
        checkpoint: Is changed.
        names: New ids by the old ones; two may change places.
        within: Where the executors are: the ids of the executors that wrap their sub-workflow, outermost first, as they
            are in the checkpoint now.

    Returns:
        The checkpoint.

    Raises:
        ValueError: There is no such executor or sub-workflow, or the new id is that of another executor.
    """
    level = sub_workflow(checkpoint, *within)
    states = _executor_states(level)
    _check_names(names, list(states))
    level.state[EXECUTOR_STATE_KEY] = {names.get(key, key): state for key, state in states.items()}
    sources = {**names, **{INTERNAL_SOURCE_ID(old): INTERNAL_SOURCE_ID(new) for old, new in names.items()}}
    level.messages = _messages(level.messages, names, sources)
    level.pending_request_info_events = {
        key: _request(event, names) for key, event in level.pending_request_info_events.items()
    }
    if EDGE_STATE_KEY in level.state:
        level.state[EDGE_STATE_KEY] = {
            edge_state_key(key, names): {
                **buffer,
                FAN_IN_BUFFER_KEY: _messages(buffer.get(FAN_IN_BUFFER_KEY, {}), names, sources),
            }
            for key, buffer in level.state[EDGE_STATE_KEY].items()
        }
    _rename_kwargs(level.state, names)
    return checkpoint


def removed(checkpoint: WorkflowCheckpoint, executor_id: str, *, within: Sequence[str] = ()) -> WorkflowCheckpoint:
    """Forget an executor that the new graph has no more: its state, and the requests that it made.

    Messages that it has sent are left: they are in flight to others, and a graph without their source cannot take them.

    Args:
        checkpoint: Is changed.
        executor_id: The executor.
        within: As for `renamed`.

    Returns:
        The checkpoint.

    Raises:
        ValueError: There is no such executor or sub-workflow.
    """
    level = sub_workflow(checkpoint, *within)
    states = _executor_states(level)
    _check_known(executor_id, list(states))
    level.state[EXECUTOR_STATE_KEY] = {key: state for key, state in states.items() if key != executor_id}
    requests = level.pending_request_info_events
    level.pending_request_info_events = {
        key: event for key, event in requests.items() if event.source_executor_id != executor_id
    }
    return checkpoint


def executor_state(checkpoint: WorkflowCheckpoint, executor_id: str, *, within: Sequence[str] = ()) -> dict[str, Any]:
    """Return the state that an executor has in a checkpoint, to read or to change: what its `on_checkpoint_save` made.

    What handlers changed of the attributes of an executor without such hooks is in it under `ATTRIBUTES_KEY`.

    Args:
        checkpoint: Its state is empty where the checkpoint has none of the executor, as of one that is new.
        executor_id: The executor.
        within: As for `renamed`.

    Raises:
        ValueError: There is no such sub-workflow.
    """
    level = sub_workflow(checkpoint, *within)
    states = level.state.setdefault(EXECUTOR_STATE_KEY, {})
    return cast("dict[str, Any]", states.setdefault(executor_id, {}))


def sub_workflow(checkpoint: WorkflowCheckpoint, *path: str) -> WorkflowCheckpoint:
    """Return the checkpoint of a sub-workflow, to read or to change; itself for no path.

    Args:
        checkpoint: The run's.
        path: Ids of the executors that wrap it, outermost first.

    Raises:
        ValueError: There is none; says which there are.
    """
    level = checkpoint
    for executor_id in path:
        states = _executor_states(level)
        wrapping = {key: one[SUB_WORKFLOW_CHECKPOINT_KEY] for key, one in states.items() if _wraps(one)}
        if executor_id not in wrapping:
            known = ", ".join(map(repr, wrapping)) or "none"
            raise ValueError(f"The checkpoint has no sub-workflow of an executor {executor_id!r}. There are: {known}.")
        level = wrapping[executor_id]
    return level


def _wraps(state: Any) -> bool:
    return isinstance(state, Mapping) and isinstance(
        cast("Mapping[str, Any]", state).get(SUB_WORKFLOW_CHECKPOINT_KEY), WorkflowCheckpoint
    )


def _executor_states(level: WorkflowCheckpoint) -> dict[str, Any]:
    return cast("dict[str, Any]", level.state.get(EXECUTOR_STATE_KEY, {}))


def _check_names(names: Mapping[str, str], known: list[str]) -> None:
    for old in names:
        _check_known(old, known)
    kept = [one for one in known if one not in names]
    for old, new in names.items():
        if new in kept or list(names.values()).count(new) > 1:
            raise ValueError(f"Executor {old!r} cannot be renamed to {new!r}: another executor is called so.")


def _check_known(executor_id: str, known: list[str]) -> None:
    if executor_id not in known:
        raise ValueError(
            f"The checkpoint has no executor {executor_id!r}. There are: {', '.join(map(repr, known)) or 'none'}."
        )


def _messages(messages: Messages, names: Mapping[str, str], sources: Mapping[str, str]) -> Messages:
    return {
        sources.get(source, source): [_message(one, names, sources) for one in sent]
        for source, sent in messages.items()
    }


def _message(message: WorkflowMessage, names: Mapping[str, str], sources: Mapping[str, str]) -> WorkflowMessage:
    request = message.original_request_info_event
    target = message.target_id
    return dataclasses.replace(
        message,
        data=_data(message.data, names),
        source_id=sources.get(message.source_id, message.source_id),
        target_id=None if target is None else names.get(target, target),
        original_request_info_event=None if request is None else _request(request, names),
    )


def _data(data: Any, names: Mapping[str, str]) -> Any:
    """Return what a message holds. MAF's own answer of an agent names the executor that it is of."""
    if isinstance(data, AgentExecutorResponse):
        return dataclasses.replace(data, executor_id=names.get(data.executor_id, data.executor_id))
    return data


def _request(event: WorkflowEvent[Any], names: Mapping[str, str]) -> WorkflowEvent[Any]:
    executor_id = event.source_executor_id
    if executor_id not in names:
        return event
    return WorkflowEvent(
        "request_info",
        event.data,
        origin=event.origin,
        request_id=event.request_id,
        source_executor_id=names[executor_id],
        request_type=event.request_type,
        response_type=event.response_type,
    )


# --- run kwargs, as MAF keeps them in the shared state -------------------------------------------------------


def _rename_kwargs(state: MutableMapping[str, Any], names: Mapping[str, str]) -> None:
    if state.get(RESOLVED_WORKFLOW_RUN_KWARGS_KEY):
        state[RESOLVED_WORKFLOW_RUN_KWARGS_KEY] = {
            key: {**one, "executor_kwargs": _renamed_keys(one["executor_kwargs"], names)}
            if one.get("executor_kwargs")
            else one
            for key, one in state[RESOLVED_WORKFLOW_RUN_KWARGS_KEY].items()
        }
    if state.get(ROUTED_WORKFLOW_RUN_KWARGS_KEY):
        state[ROUTED_WORKFLOW_RUN_KWARGS_KEY] = {
            key: [names.get(one, one) for one in keys] for key, keys in state[ROUTED_WORKFLOW_RUN_KWARGS_KEY].items()
        }
    if state.get(WORKFLOW_RUN_KWARGS_KEY):
        state[WORKFLOW_RUN_KWARGS_KEY] = {
            key: _renamed_given(one, names) for key, one in state[WORKFLOW_RUN_KWARGS_KEY].items()
        }


def _renamed_given(given: Any, names: Mapping[str, str]) -> Any:
    if isinstance(given, WorkflowInvocationKwargs):
        return dataclasses.replace(given, executor_kwargs=_renamed_keys(given.executor_kwargs, names))
    return _renamed_keys(cast("Mapping[str, Any]", given), names) if isinstance(given, Mapping) else given


def _renamed_keys(mapping: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in mapping.items()}
