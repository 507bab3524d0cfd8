"""Exit codes of processes that used Temporal: the one thing after their worker stops is the end of the process.

A plain exit aborts here now and then (see `temporal_adapter.process`), so each case runs several processes.
"""

from __future__ import annotations

import signal

import pytest

from tests.support import scripts

PROCESSES = 4

DEFINITIONS = """
    import asyncio, os, sys
    from datetime import timedelta
    from temporalio import activity, workflow
    from temporalio.client import Client
    from temporalio.worker import Worker
    from temporal_adapter import process

    @activity.defn
    async def greet(name: str) -> str:
        return f"hello {name}"

    @workflow.defn(sandboxed=False)
    class Greeting:
        @workflow.run
        async def run(self, name: str) -> str:
            return await workflow.execute_activity(greet, name, start_to_close_timeout=timedelta(seconds=30))

    def worker(client):
        return Worker(client, task_queue=QUEUE, workflows=[Greeting], activities=[greet])

    QUEUE = os.environ["QUEUE"]
"""

JOB = (
    DEFINITIONS
    + """
    async def main():
        client = await Client.connect(os.environ["SERVER"])
        async with worker(client):
            print(await client.execute_workflow(Greeting.run, "you", id=f"{QUEUE}-{os.getpid()}", task_queue=QUEUE))
        return 3

    process.run(main())
"""
)

SERVICE = (
    DEFINITIONS
    + """
    async def main():
        client = await Client.connect(os.environ["SERVER"])
        async with worker(client):
            print("ready", flush=True)
            await asyncio.Event().wait()

    process.serve(main())
"""
)


def test_a_job_that_ends_with_its_worker_exits_with_its_own_code(server: str, task_queue: str) -> None:
    jobs = [scripts.start(JOB, SERVER=server, QUEUE=task_queue) for _ in range(PROCESSES)]

    assert scripts.outcomes(jobs) == [(3, "hello you\n", "")] * PROCESSES


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_stopped_by_a_signal_exits_with_0(server: str, task_queue: str, stop: signal.Signals) -> None:
    workers = [scripts.start(SERVICE, SERVER=server, QUEUE=task_queue) for _ in range(PROCESSES)]
    assert [scripts.line_of(each) for each in workers] == ["ready"] * PROCESSES

    for each in workers:
        each.send_signal(stop)

    assert scripts.outcomes(workers) == [(0, "", "")] * PROCESSES
