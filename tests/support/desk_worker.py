"""A worker process that has the graphs of `support_desk`, to be killed. Run with: address, namespace, queue, store."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from agent_framework import Workflow
from temporalio.client import Client
from temporalio.worker import Worker

from temporal_adapter import AgentFrameworkPlugin, SessionWorkflow, durable, process

from .commands import environment
from .killable import BRISK
from .scripts import REPOSITORY


async def main(address: str, namespace: str, task_queue: str, store: str) -> None:
    from .support_desk import approving, desk

    plugin = AgentFrameworkPlugin([desk, approving], checkpoint_store=store, default_activity_options=BRISK)
    client = await Client.connect(address, namespace=namespace, plugins=[plugin])
    sticky = timedelta(seconds=1)  # how long a run waits for this worker, once it was killed
    worker = Worker(client, task_queue=task_queue, sticky_queue_schedule_to_start_timeout=sticky)
    print("ready", flush=True)
    await worker.run()


class DeskWorker:
    """The worker process, started and killed as a test says."""

    def __init__(self, client: Client, task_queue: str, store: Path) -> None:
        address = client.service_client.config.target_host
        self.arguments = [address, client.namespace, task_queue, str(store)]
        self.client = client
        self.task_queue = task_queue
        self.store = str(store)
        self._process: Any = None

    async def start(self) -> None:
        """Start the process, unless there is one, and wait until it serves."""
        if self._process is not None:
            return
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.desk_worker",
            *self.arguments,
            cwd=REPOSITORY,
            env=environment(),
            stdout=asyncio.subprocess.PIPE,
        )
        assert (await self._process.stdout.readline()).strip() == b"ready"

    async def kill(self) -> None:
        """Kill the process; nothing of it is left."""
        os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._process = None

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        if self._process is not None:
            await self.kill()

    def drop_in(self, build: Callable[[], Workflow], session_id: str) -> SessionWorkflow:
        """Return a drop-in for a session, as any process makes it."""
        return durable(
            build(), self.client, task_queue=self.task_queue, session_id=session_id, checkpoint_store=self.store
        )


if __name__ == "__main__":
    process.serve(main(*sys.argv[1:]))
