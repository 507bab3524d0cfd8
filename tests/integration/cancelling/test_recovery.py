"""Stores and histories of runs whose requests were cancelled agree, and each makes the other again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_framework import Workflow
from temporalio.client import Client

from temporal_adapter import BlobStore
from temporal_adapter.recovery import rebuild, verify
from tests.support import releasing
from tests.support.running import pending, serving


@pytest.mark.parametrize("factory", [releasing.two, releasing.three_levels], ids=lambda it: it.__name__)
async def test_a_lost_store_is_rebuilt_with_the_checkpoints_of_cancellations_and_the_run_goes_on(
    client: Client, task_queue: str, tmp_path: Path, factory: Callable[[], Workflow]
) -> None:
    place = str(tmp_path / "store")
    async with serving(client, task_queue, factory, store=BlobStore(place)) as durable:
        run = await durable.start(1, id=task_queue)
        first, *others = await pending(run, 2)
        await run.cancel_pending_requests([first.request_id], responder="Ada")
        await pending(run, len(others))
    before = await verify(client, task_queue, place)
    shutil.rmtree(place)

    rebuilt = await rebuild(client, task_queue, BlobStore(place))

    assert before.same, before.differences
    assert rebuilt.complete, rebuilt
    after = await verify(client, task_queue, place)
    assert after.same, after.differences
    assert after.checkpoints == before.checkpoints
    async with serving(client, task_queue, factory, store=BlobStore(place)):
        await run.cancel_pending_requests([one.request_id for one in others])
        await run.result()
    ended = await verify(client, task_queue, place)
    assert ended.same, ended.differences
