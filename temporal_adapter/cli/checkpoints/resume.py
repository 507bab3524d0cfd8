"""`checkpoint resume`: a run that did not end well goes on from its last checkpoint, under its workflow id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import CliError, ExitCode

from .group import group
from .opened import opened
from .replay import task_queue_of


@command(group, "resume")
async def resume_run(
    options: StoreOptions,
    workflow_id: Annotated[str, typer.Argument(metavar="WORKFLOW_ID", help="The workflow id of the run.")],
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Where to go on, if not at the last; needed if Temporal has the run no more."),
    ] = None,
    workflow_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The workflow's name, if not that of the run.")
    ] = None,
    task_queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the workers; by default that of the run.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end, or until it waits for somebody.")] = False,
) -> ExitCode:
    """Continue a run that failed, was cancelled, terminated or timed out.

    It goes on from its last checkpoint, under the same workflow id. What its checkpoints hold is not run again.
    """
    client = await connected(options)
    run = await _on_server(client, workflow_id)
    if checkpoint is not None:
        stored = await _of_checkpoint(options, workflow_id, checkpoint, task_queue if run is None else run.task_queue)
        run = run or stored
    if run is None:
        raise CliError(
            ExitCode.NOT_FOUND,
            f"Temporal has no run with workflow id {workflow_id!r} in namespace {client.namespace!r}. If the "
            f"checkpoint store has it (`temporal-adapter checkpoint list {workflow_id!r}`), say where to go on: "
            "--checkpoint ID.",
        )
    from .starting import start

    return await start(
        client,
        options,
        "resume",
        workflow_name or run.workflow_name,
        task_queue or run.task_queue,
        wait,
        lambda durable: durable.resume(workflow_id, checkpoint_id=checkpoint),
    )


@dataclass(frozen=True)
class _Run:
    workflow_name: str
    task_queue: str


async def _on_server(client: Client, workflow_id: str) -> _Run | None:
    try:
        found = await client.get_workflow_handle(workflow_id).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return _Run(found.workflow_type, found.task_queue)


async def _of_checkpoint(options: StoreOptions, workflow_id: str, checkpoint_id: str, task_queue: str | None) -> _Run:
    store = opened(options)
    manifest = await store.manifest(checkpoint_id)
    if manifest.workflow_id != workflow_id:
        raise CliError(  # which must not become one of this run
            ExitCode.USAGE,
            f"--checkpoint: {checkpoint_id!r} is of {manifest.workflow_id!r}, not of {workflow_id!r}. `replay` and "
            "`fork` make another run from it.",
        )
    return _Run(manifest.workflow_name, task_queue or await task_queue_of(store, manifest))
