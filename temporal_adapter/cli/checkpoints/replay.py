"""`checkpoint replay`: a new run that repeats another from one of its checkpoints, with the same responses."""

from __future__ import annotations

from typing import Annotated

import typer

from temporal_adapter import wire
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import CliError, ExitCode

from .group import group
from .opened import Opened, opened


@command(group, "replay")
async def replay_run(
    options: StoreOptions,
    checkpoint_id: Annotated[str, typer.Argument(metavar="ID", help="The checkpoint to begin at.")],
    workflow_id: Annotated[
        str | None, typer.Option("--id", metavar="WORKFLOW_ID", help="Of the new run; one is made if absent.")
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The last checkpoint whose responses are repeated; else all are."),
    ] = None,
    task_queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the workers; by default that of the run it repeats.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end, or until it waits for somebody.")] = False,
) -> ExitCode:
    """Start a new run from a checkpoint, with the same inputs and responses.

    From the entry checkpoint that is the whole run. Executors run again, with their side effects. The run that is
    repeated stays as it is.
    """
    store = opened(options)
    manifest = await store.manifest(checkpoint_id)
    if until is not None:
        await store.manifest(until)
    queue = task_queue or await task_queue_of(store, manifest)
    client = await connected(options)
    from .starting import start

    return await start(
        client,
        options,
        "replay",
        manifest.workflow_name,
        queue,
        wait,
        lambda durable: durable.replay(checkpoint_id, id=workflow_id, until=until),
    )


async def task_queue_of(store: Opened, manifest: wire.Manifest) -> str:
    """Return the task queue of the run that made a checkpoint.

    Raises:
        CliError: The store does not know it.
    """
    run = await store.run_of(manifest)
    if run is None:
        raise CliError(
            ExitCode.USAGE,
            f"the store does not know on which task queue checkpoint {manifest.header.checkpoint_id!r} was made: in "
            "no run on Temporal, or by an earlier release. Give that of workers which have the workflow "
            f"{manifest.workflow_name!r}: --task-queue.",
        )
    return run.task_queue
