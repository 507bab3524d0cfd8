"""`python -m workers.demo`: sets the stage (server, worker), lets the story run, and says what went wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import click
from rich.console import Console
from temporalio.client import Client, WorkflowFailureError

from temporal_adapter import process
from temporal_adapter.connection import ConnectionFailed, connect
from workers.demo.ask import Interrupted, approve, ask_at_the_keyboard, wait_for_a_key
from workers.demo.progress import live, plain
from workers.demo.shell import FACTORY, Afterwards
from workers.demo.story import Stage, tell
from workers.demo.worker_process import WorkerFailed, worker_process
from workers.dev_server import NAMESPACE, DevServerError, dev_server

_STORE = Path(".run/demo/checkpoints")
_PLAIN_WIDTH = 120


async def main() -> int:
    """Run the demo; return its exit code."""
    interactive = os.environ.get("DEMO_INTERACTIVE", "") not in ("", "0")
    if interactive and not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _say("DEMO_INTERACTIVE is set, and there is no terminal to ask at: use one, or unset it.", 2)
    try:
        await _perform(interactive)
    except (ConnectionFailed, DevServerError, WorkerFailed) as error:
        return _say(str(error), 1)
    except Interrupted:
        return 130
    except Exception as error:
        failure = error if isinstance(error, WorkflowFailureError) else error.__cause__
        if not isinstance(failure, WorkflowFailureError):
            raise
        return _say(f"the run failed: {failure.cause}", 1)
    return 0


async def _perform(interactive: bool) -> None:
    console = Console()
    on_screen = console.is_interactive and not os.environ.get("CI")
    if not on_screen:
        console = Console(width=_PLAIN_WIDTH, color_system=None, force_terminal=False)
    task_queue = f"expense-approval-demo-{uuid4().hex[:8]}"
    async with (
        _server(console) as server,
        worker_process([FACTORY], task_queue, _STORE, server.environment) as worker,
    ):
        console.print(worker.greeting, markup=False, highlight=False, soft_wrap=True)
        stage = Stage(
            client=server.client,
            task_queue=task_queue,
            checkpoint_store=_STORE,
            ui_url=server.ui_url,
            afterwards=_afterwards(server, interactive),
            console=console,
            progress=live if on_screen else plain,
            decide=ask_at_the_keyboard if interactive else approve,
        )
        await worker.guard(tell(stage))
        if interactive and server.ui_url:
            wait_for_a_key("\nPress any key to stop the server and the worker, and end the demo...")


def _afterwards(server: _Server, interactive: bool) -> Afterwards:
    if server.ui_url is None:
        return "server stays"
    return "all stay" if interactive else "nothing stays"


def _say(error: str, code: int) -> int:
    click.echo(f"Error: {error}", err=True)
    return code


@dataclass(frozen=True)
class _Server:
    client: Client
    ui_url: str | None
    environment: Mapping[str, str]  # for the worker, to find the same server


@asynccontextmanager
async def _server(console: Console) -> AsyncIterator[_Server]:
    """The server at TEMPORAL_ADDRESS; a dev server, started and stopped here, when that is not set."""
    if os.environ.get("TEMPORAL_ADDRESS"):
        yield _Server(await connect(), None, os.environ)
        return
    async with dev_server(ui=True) as started:
        console.print(
            f"Started `temporal server start-dev` at {started.address}, Temporal UI at {started.ui_url}",
            highlight=False,
            soft_wrap=True,
        )
        # Settings for another server (a namespace, TLS, a profile) would be wrong for this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}
        environment |= {
            "TEMPORAL_ADDRESS": started.address,
            "TEMPORAL_NAMESPACE": NAMESPACE,
            "TEMPORAL_CONFIG_FILE": os.devnull,
        }
        yield _Server(await Client.connect(started.address, namespace=NAMESPACE), started.ui_url, environment)


if __name__ == "__main__":
    process.run(main())
