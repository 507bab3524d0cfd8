"""What `doctor` finds out about workers: who serves a task queue, what they know, and how their runs are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from temporalio.client import Client
from temporalio.service import RPCError

from temporal_adapter import wire
from temporal_adapter.client.asking import AdapterRun, Asking, Unanswered
from temporal_adapter.client.listing import adapter_runs, states_of
from temporal_adapter.client.task_queues import pollers

from .check import Check

_RUNS = 100  # the newest open ones, that are looked at


async def of_workers(
    client: Client, task_queues: Sequence[str], workflow_names: Sequence[str]
) -> AsyncGenerator[Check, None]:
    """Yield what is found of the workers of task queues; those of open runs, if none are named."""
    try:
        runs = await adapter_runs(client, state="open", limit=_RUNS)
    except RPCError as error:
        yield Check("runs", "problem", f"they cannot be listed: {error.message}.")
        return
    queues = list(dict.fromkeys(task_queues or [run.task_queue for run in runs]))
    if not queues:
        yield Check("task queues", "warning", "no run is open, so none was looked at.", "Name one by --task-queue.")
    for queue in queues:
        check = await _of_queue(client, queue)
        yield check
        if check.result != "problem":
            async for one in _of_served_queue(client, queue, workflow_names, runs):
                yield one


async def _of_queue(client: Client, queue: str) -> Check:
    subject = f"task queue {queue!r}"
    fix = f"Start a worker: python -m workers --task-queue {queue} --workflow package.module:factory"
    try:
        workflows = await pollers(client, queue)
        activities = await pollers(client, queue, of_activities=True)
    except RPCError as error:
        return Check(subject, "warning", f"who serves it cannot be asked: {error.message}.")
    if not workflows and not activities:
        return Check(subject, "problem", "no worker serves it.", fix)
    if not workflows or not activities:
        missing = "workflows" if activities else "activities"
        return Check(subject, "problem", f"its workers run no {missing}.", fix)
    workers = sorted({one.identity for one in [*workflows, *activities]})
    return Check(subject, "ok", f"served by {', '.join(workers)}.")


async def _of_served_queue(
    client: Client, queue: str, workflow_names: Sequence[str], runs: Sequence[AdapterRun]
) -> AsyncGenerator[Check, None]:
    ours = [run for run in runs if run.task_queue == queue]
    troubled: set[str] = set()  # workflows of which that is known of all runs
    for name in dict.fromkeys([*workflow_names, *(run.workflow_name for run in ours)]):
        check = await _of_workflow(client, queue, name)
        yield check
        if check.result == "problem":
            troubled.add(name)
    asked = [run for run in ours if run.workflow_name not in troubled]
    states = await states_of(client, asked)
    if asked:
        yield _of_runs(queue, [one for one in states if isinstance(one, wire.RunStatus)])
    for one in states:
        if isinstance(one, Unanswered):
            yield Check(f"run {one.workflow_id!r}", "problem", f"it could not be asked: {one.reason}.")


async def _of_workflow(client: Client, queue: str, name: str) -> Check:
    """Ask the workers about the newest run of a workflow: the server does not know what they know."""
    subject = f"workflow {name!r} on {queue!r}"
    runs = await adapter_runs(client, workflow_name=name, task_queue=queue, limit=1)
    if not runs:
        return Check(subject, "warning", "it had no run yet, so nothing tells whether the workers have it.")
    answer = await Asking(client, only_open=False).ask(runs[0], lambda query: query("status"))
    if isinstance(answer, Unanswered):
        detail = f"its run {answer.workflow_id!r} could not be asked: {answer.reason}."
        fix = f"Start a worker that has it: python -m workers --task-queue {queue} --workflow package.module:factory"
        return Check(subject, "problem", detail, fix)
    return Check(subject, "ok", "the workers have it.")


def _of_runs(queue: str, states: Sequence[wire.RunStatus]) -> Check:
    subject = f"runs of {queue!r}"
    troubled = [one.mirror_error for one in states if one.mirror_error is not None]
    if troubled:
        detail = f"of {len(troubled)}, the workers cannot write the checkpoints: {troubled[0]}"
        return Check(subject, "problem", detail, "Mend their store; what waits is written then.")
    waiting = [one.failed_executors[0] for one in states if one.failed_executors]
    if waiting:
        first = waiting[0]
        detail = f"{len(waiting)} wait for an operator: {first.executor} failed ({first.error_type}: {first.message})."
        return Check(subject, "warning", detail, "`temporal workflow update execute --name retry` runs it again.")
    pending = sum(one.pending_requests for one in states)
    return Check(subject, "ok", f"open: {len(states)}; their requests that wait for a response: {pending}.")
