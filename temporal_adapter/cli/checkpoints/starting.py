"""What `resume`, `replay` and `fork` share: starting a run by the client, saying what it is, waiting for it.

Loads the client, and so MAF, as the commands that only look need not.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from temporalio.client import Client

from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions
from temporal_adapter.cli.resting import Rest, at_rest, explained, print_rest, print_started
from temporal_adapter.cli.running import CliError, ExitCode
from temporal_adapter.client import DurableRun, DurableWorkflow
from temporal_adapter.client.restoring import options_of

Start = Callable[[DurableWorkflow], Coroutine[Any, Any, DurableRun]]


async def start(
    client: Client, options: StoreOptions, verb: str, workflow_name: str, task_queue: str, wait: bool, by: Start
) -> ExitCode:
    """Start a run, and say what it is; if wanted, wait until it has ended or waits for somebody, and say how it is.

    Args:
        client: Of the server that is to run it.
        options: Of the command.
        verb: What the run is of the checkpoint: resume, replay or fork.
        workflow_name: The Temporal workflow type.
        task_queue: Of the workers that have it.
        wait: Whether to wait.
        by: Starts it.

    Raises:
        CliError: It cannot be started; or its workers cannot say how it is.
    """
    durable = DurableWorkflow(client, workflow_name, task_queue=task_queue)
    async with explained():
        run = await by(durable)
        run_id: str = run.handle.first_execution_run_id or ""
        began = await options_of(client, run.id, run_id)
    checkpoint_id = "" if began.restore is None else began.restore.checkpoint_id
    if not options.as_json:
        print_started(client, options, run, {"run id": run_id, verb: f"of checkpoint {checkpoint_id}"})
    async with explained():
        rest = await at_rest(run, is_session=began.session) if wait else Rest()
    if options.as_json:
        about = {"verb": verb, "checkpoint_id": checkpoint_id, "workflow_name": workflow_name, "workflow_id": run.id}
        output.print_json({**about, "run_id": run_id, "task_queue": task_queue, **rest.json()})
    elif wait:
        print_rest(client, options, run, rest)
    if rest.problem is not None:
        raise CliError(ExitCode.FINDING, rest.problem)
    return ExitCode.OK
