"""Command lines for a person to type after the demo: those of Temporal, and the worker's.

Only their text is made here. Which of them a person can use depends on what is there afterwards (`Afterwards`).
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from temporalio.client import Client

from workers.demo.worker_process import worker_arguments
from workers.dev_server import NAMESPACE, DevServerError, temporal_program

FACTORY = "workers.expense_approval:build_expense_approval"

Afterwards = Literal["nothing stays", "all stay", "server stays"]
"""What is there for a person when the story is told: the demo's server and worker stop at once, or wait for a key; or
the server is not the demo's."""

_REQUEST_ID = "REQUEST_ID"


@dataclass(frozen=True)
class Shell:
    """Makes the command lines for a server and a task queue."""

    client: Client
    task_queue: str
    checkpoint_store: Path

    def worker(self) -> str:
        """Return the line that starts a worker like the demo's."""
        command = [_shown(sys.executable), *worker_arguments([FACTORY], self.task_queue, self.checkpoint_store)]
        settings = [f"TEMPORAL_ADDRESS={self._address}"]
        if self.client.namespace != NAMESPACE:
            settings.append(f"TEMPORAL_NAMESPACE={self.client.namespace}")
        return shlex.join([*settings, *command])

    def run(self, run_id: str, workflow: str, report: str, responses: Sequence[object]) -> Iterator[str]:
        """Yield the lines that start a run with a report, follow it and answer it.

        The request's id is a placeholder: it is new in each run, and the query tells it.
        """
        yield self._workflow("start", run_id, "--type", workflow, "--task-queue", self.task_queue, "--input", report)
        yield self._workflow("query", run_id, "--type", "pending_requests")
        for response in responses:
            answer = ("--name", "respond", "--input", json.dumps({"request_id": _REQUEST_ID, "response": response}))
            yield f"# with the id that the query shows as {_REQUEST_ID}; a signal says no more than that it was sent"
            yield self._workflow("signal", run_id, *answer)
            yield "# or by update, which says whether the response was accepted, and if not, why"
            yield self._workflow("update execute", run_id, *answer)
        yield self._workflow("result", run_id)
        yield self._workflow("show", run_id)

    def terminate(self, run_id: str) -> str:
        """Return the line that ends a run."""
        return self._workflow("terminate", run_id)

    def _workflow(self, command: str, run_id: str, *options: str) -> str:
        where = ["--address", self._address]
        if self.client.namespace != NAMESPACE:
            where += ["--namespace", self.client.namespace]
        return shlex.join([temporal(), "workflow", *command.split(), "--workflow-id", run_id, *options, *where])

    @property
    def _address(self) -> str:
        return self.client.service_client.config.target_host


def temporal() -> str:
    """Return how to call Temporal's command line here."""
    try:
        found = temporal_program()
    except DevServerError:  # the server is another's, and this machine may not have the program
        return "temporal"
    return "temporal" if shutil.which("temporal") == found else _shown(found)


def _shown(program: str) -> str:
    """Return a program's path, relative when it is below the current directory."""
    path = Path(program)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else program
