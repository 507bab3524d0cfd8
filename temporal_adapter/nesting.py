"""Workflows whose supersteps run elsewhere: MAF's own `Workflow.run` around a runner that only calls for them.

`WorkflowExecutor` calls `run` of the workflow it wraps and handles what that returns: it scopes run kwargs, coerces
responses, turns outputs into messages and requests into requests of its own. All that stays MAF's code. Only the
runner below it is replaced: at the first superstep it either raises `Called`, with the messages that are in flight
then, or, when that run has been made elsewhere, shows what it showed. So does `cancel_pending_requests`, with the
requests whose executors are to be told: that is done elsewhere, too.

An executor that calls several runs in one delivery is run anew after each: the runs made so far are shown to it again.
Nothing here decides when or where the supersteps run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from agent_framework import Workflow, WorkflowEvent, WorkflowMessage

from temporal_adapter.maf import MessageType, runner_of


@dataclass(frozen=True, slots=True)
class Made:
    """A run that was made elsewhere: what it showed, and what it failed with."""

    events: Sequence[WorkflowEvent[Any]]
    error: Exception | None = None


class Called(BaseException):
    """A workflow was called, and its supersteps are to be run now.

    Not an Exception: neither MAF nor an executor may take it for an error.

    Attributes:
        messages: In flight.
        state: Shared state that the call set: run kwargs.
        fresh: Whether the call was by an input, so that supersteps are counted anew.
        cancelled: Requests that are to be cancelled, in the order in which they were made. There are no messages then.
    """

    def __init__(self, messages: list[WorkflowMessage], state: dict[str, Any], cancelled: Sequence[str] = ()) -> None:
        super().__init__("a sub-workflow was called")
        self.messages = messages
        self.state = state
        self.fresh = bool(messages) and all(message.type is MessageType.STANDARD for message in messages)
        self.cancelled = list(cancelled)


@asynccontextmanager
async def runs_elsewhere(
    workflow: Workflow, *, pending: Iterable[WorkflowEvent[Any]] = (), made: Iterable[Made] = ()
) -> AsyncGenerator[None, None]:
    """Let `workflow.run`, or `cancel_pending_requests`, raise `Called` where it would run its first superstep.

    Args:
        workflow: A pristine workflow; it is pristine again afterwards.
        pending: Requests that are pending in it.
        made: Runs that were made already, in order: the first calls show these instead of raising `Called`.
    """
    runner = runner_of(workflow)
    context, waiting = runner.context, list(made)
    cancelled: list[str] = []  # by the call that is made now

    async def run_until_convergence() -> AsyncGenerator[WorkflowEvent[Any], None]:
        messages = [one for sent in (await context.drain_messages()).values() for one in sent]
        if not waiting:
            raise Called(messages, runner.state.export_state(), cancelled)
        cancelled.clear()
        run = waiting.pop(0)
        for event in run.events:
            if event.type == "request_info":
                await _add_pending(event)
            yield event
        if run.error is not None:
            raise run.error

    async def _add_pending(event: WorkflowEvent[Any]) -> None:
        await context.add_request_info_event(event)
        await context.drain_events()  # whoever runs this shows it

    async def cancel_request_info_events(request_ids: set[str]) -> dict[str, WorkflowEvent[Any]]:
        """Take requests for pending no more, and leave it to whoever makes the run to tell their executors."""
        cancelled.extend(one for one in await context.get_pending_request_info_events() if one in request_ids)
        await type(context).cancel_request_info_events(context, request_ids)
        return {}

    async def create_checkpoint_if_enabled() -> None:
        """Leave a storage that the workflow was built with alone: the run's checkpoints are the caller's."""

    for event in pending:
        await _add_pending(event)
    replaced = {
        "run_until_convergence": run_until_convergence,
        "create_checkpoint_if_enabled": create_checkpoint_if_enabled,
    }
    vars(runner).update(replaced)
    vars(context)["cancel_request_info_events"] = cancel_request_info_events
    try:
        yield
    finally:
        for name in replaced:
            del vars(runner)[name]
        del vars(context)["cancel_request_info_events"]
        runner.state.clear()
        runner.state.commit()
        runner.reset_iteration_count()
        await context.drain_messages()
        await context.drain_events()
        await context.cancel_request_info_events(set(await context.get_pending_request_info_events()))


async def called(workflow: Workflow, message: Any, **run_arguments: Any) -> Called:
    """Call a workflow with an input, and return what it calls for.

    Raises:
        RuntimeError: The start executor cannot handle the input.
        ValueError: The arguments do not go together.
    """
    async with runs_elsewhere(workflow):
        try:
            await workflow.run(message, **run_arguments)
        except Called as call:
            return call
    raise AssertionError("Workflow.run returned without a superstep")
