"""The client's payload codec reaches the blob store: with one that encrypts, no plaintext is on disk or in history."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.worker import Replayer

from temporal_adapter import BlobCheckpointStorage, BlobStore, workflow_type
from tests.support.running import pending, serving
from tests.unit.store.codecs import EncryptingCodec

SECRET = "the takeover of Initech"


class Advise(Executor):
    """Keeps a secret everywhere a run keeps things: small and large, in state, attributes, messages and requests."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.memo = ""

    @handler
    async def advise(self, deal: str, ctx: WorkflowContext[str, str]) -> None:
        self.memo = f"memo: {deal}"
        ctx.set_state("deal", deal)
        ctx.set_state(f"files of {deal}", [f"{deal}, page {page}" for page in range(2000)])
        await ctx.request_info(f"Shall we begin {deal}?", str)

    @response_handler
    async def decided(self, question: str, answer: str, ctx: WorkflowContext[None, str]) -> None:
        files = ctx.get_state(f"files of {ctx.get_state('deal')}") or []
        await ctx.yield_output(f"{answer}: {self.memo} ({len(files)})")


def advise() -> Workflow:
    return WorkflowBuilder(name="advise", start_executor=Advise("adviser")).build()


def objects_below(directory: Path) -> dict[str, bytes]:
    """Return the content of all files, by path."""
    return {str(one): one.read_bytes() for one in directory.rglob("*") if one.is_file()}


async def test_no_plaintext_is_on_disk_or_in_history(
    connect: Callable[..., Awaitable[Client]], task_queue: str, tmp_path: Path
) -> None:
    codec = EncryptingCodec()
    converter = dataclasses.replace(DataConverter.default, payload_codec=codec)
    client = await connect(data_converter=converter)
    async with serving(client, task_queue, advise, store=BlobStore(tmp_path)) as durable:
        run = await durable.start(SECRET, id=f"{task_queue}-run")
        [request] = await pending(run)
        await run.respond(request.request_id, f"yes to {SECRET}")
        assert (await run.result()).get_outputs() == [f"yes to {SECRET}: memo: {SECRET} (2000)"]
        replay = await durable.replay((await run.checkpoints())[0].checkpoint_id)
        assert (await replay.result()).get_outputs() == (await run.result()).get_outputs()
        history = await run.handle.fetch_history()

    objects = objects_below(tmp_path)
    assert len(objects) > 5
    for name, content in objects.items():
        assert b"Initech" not in content, name
        assert "Initech" not in name
    assert "Initech" not in history.to_json()
    await Replayer(workflows=[workflow_type("advise")], data_converter=converter).replay_workflow(history)
    storage = BlobCheckpointStorage(str(tmp_path), workflow=advise(), payload_codec=codec)
    stored: Any = await storage.get_latest(workflow_name="advise")
    assert stored.state["deal"] == SECRET


async def test_the_same_search_finds_the_plaintext_without_a_codec(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    async with serving(client, task_queue, advise, store=BlobStore(tmp_path)) as durable:
        run = await durable.start(SECRET)
        await pending(run)
        history = await run.handle.fetch_history()

    assert any(b"Initech" in content for content in objects_below(tmp_path).values())
    assert "Initech" in str(history.events)
