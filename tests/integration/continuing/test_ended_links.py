"""Runs that were ended just when they had gone on as a new Temporal run."""

from __future__ import annotations

from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle

from temporal_adapter import BlobStore, RunNotFound, continuation
from temporal_adapter.host import context
from tests.support.graphs import loop
from tests.support.links import links_of
from tests.support.running import serving, until


async def test_a_link_that_never_read_what_it_carries_says_so_instead_of_being_asked_for_ever(
    client: Client, task_queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "DEFAULT_CONTINUES_AFTER", 1)
    monkeypatch.setattr(continuation, "_CARRIED_BYTES", 0)
    id = f"{task_queue}-ended"
    async with serving(client, task_queue, loop) as durable:
        await (await durable.start(0, id=task_queue)).result()
    [link, *_] = (await links_of(client, task_queue))[1:]
    started = link.events[0].workflow_execution_started_event_attributes
    carried = await client.data_converter.decode(started.input.payloads)

    async with serving(client, task_queue, loop, store=BlobStore("memory://")) as durable:  # has nothing of it
        handle = await client.start_workflow("loop", args=carried, id=id, task_queue=task_queue)
        await until(lambda: reads(handle))
        await handle.terminate()
        with pytest.raises(RunNotFound, match=f"{id!r} was ended when it had gone on as a new Temporal run"):
            await durable.get_run(id).status()


async def reads(handle: WorkflowHandle[Any, Any]) -> bool:
    types = [one.activity_type.name for one in (await handle.describe()).raw_description.pending_activities]
    return types == ["loop:fetch"]
