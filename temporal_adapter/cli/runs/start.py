"""`start`: a new run, from JSON."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from temporalio.client import Client
from temporalio.service import RPCError

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.given import given_value
from temporal_adapter.cli.options import ServerOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.cli.top import top
from temporal_adapter.converter import ordered_json

if TYPE_CHECKING:
    from temporal_adapter.client import DurableRun


@command(top, "start")
async def start_run(
    options: ServerOptions,
    workflow: Annotated[str, typer.Option(metavar="NAME", help="The workflow's name.")],
    task_queue: Annotated[str, typer.Option(metavar="NAME", help="Of the workers that have it.")],
    message: Annotated[
        str | None,
        typer.Argument(metavar="MESSAGE", show_default=False, help="The input: JSON, @FILE, or @- to read it."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="The input is a text, as it stands.")] = False,
    id: Annotated[
        str | None, typer.Option(metavar="ID", show_default="one is made", help="The workflow id of the run.")
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Agents answer in updates, as in run(stream=True).")] = False,
    session: Annotated[
        bool, typer.Option("--session", help="Keep the run open for further inputs. The first may come later.")
    ] = False,
    on_failure: Annotated[
        Literal["fail", "wait"] | None,
        typer.Option(
            show_default="as the workers are configured",
            help="What the run does when an executor fails for good: fail, or wait for an operator.",
        ),
    ] = None,
    function_invocation_kwargs: Annotated[
        str | None, typer.Option(metavar="JSON", help="For the tools of agents, as Workflow.run takes them.")
    ] = None,
    client_kwargs: Annotated[
        str | None, typer.Option(metavar="JSON", help="For the chat clients of agents, likewise.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end, or until it waits for somebody.")] = False,
) -> ExitCode:
    """Start a run of a workflow.

    It says which run it is, and needs no worker for that. With --wait it stays until the run has ended, and prints the
    outputs, or until the run waits for somebody, and prints the requests; the exit code is 1 where the run fails.

    \b
    temporal-adapter start '{"amount": 1200}' --workflow expense-approval --task-queue expenses
    temporal-adapter start --text Ada --workflow greeting --task-queue greetings --id greet-ada --wait
    """
    if message is None and not session:
        raise CliError(ExitCode.USAGE, "a run wants a MESSAGE; only one with --session can be given it later.")
    if id == "":
        raise CliError(ExitCode.USAGE, "--id is empty. Give one, or leave --id out to have one made.")
    given = None if message is None else given_value(message, "MESSAGE", as_text=text)
    start_options = wire.StartOptions(
        function_invocation_kwargs=_kwargs(function_invocation_kwargs, "--function-invocation-kwargs"),
        client_kwargs=_kwargs(client_kwargs, "--client-kwargs"),
        on_failure=on_failure,
        stream=stream,
        session=session,
    )
    client = await connected(options)
    from temporal_adapter.cli.resting import Rest, at_rest, explained, print_rest, print_started
    from temporal_adapter.client import DurableWorkflow

    async with explained():
        handle = await client.start_workflow(
            workflow,
            args=[ordered_json(given), ordered_json(wire.dump(start_options))],
            id=f"{workflow}-{uuid.uuid4()}" if id is None else id,
            task_queue=task_queue,
        )
    run, run_id = (
        DurableWorkflow(client, workflow, task_queue=task_queue).get_run(handle.id),
        handle.result_run_id or "",
    )
    if not options.as_json:
        print_started(client, options, run, {"run id": run_id})
    served = await _is_served(client, task_queue)
    if not served:
        waits = "; this command goes on waiting for it" if wait else ""
        tell(f"Warning: no worker serves task queue {task_queue!r}. The run goes on when one does{waits}.")
    elif not wait:  # whoever waits is told in any case
        await _tell_if_unknown(run, workflow, task_queue)
    async with explained():
        rest = await at_rest(run, is_session=session) if wait else Rest()
    if options.as_json:
        about = {"workflow_name": workflow, "workflow_id": run.id, "run_id": run_id, "task_queue": task_queue}
        output.print_json({**about, **rest.json()})
    elif wait:
        print_rest(client, options, run, rest)
    if rest.problem is not None:
        raise CliError(ExitCode.FINDING, rest.problem)
    return ExitCode.OK


def _kwargs(text: str | None, option: str) -> Any:
    given = None if text is None else given_value(text, option, as_text=False)
    if given is not None and not isinstance(given, dict):
        raise CliError(ExitCode.USAGE, f"{option}: {text!r} is no JSON object.")
    return given  # pyright: ignore[reportUnknownVariableType]


async def _is_served(client: Client, task_queue: str) -> bool:
    from temporal_adapter.client.task_queues import pollers

    try:
        return bool(await pollers(client, task_queue))
    except RPCError:  # who may start runs need not be allowed to ask this
        return True


async def _tell_if_unknown(run: DurableRun, workflow: str, task_queue: str) -> None:
    from .taken import unknown_at_first

    unknown = await unknown_at_first(run, workflow, task_queue)
    if unknown is not None:
        tell(f"Warning: {unknown}")
