import asyncio

from tests.support.deployments import *
from tests.support.releases import *
from tests.support.running import *


async def test_b(client, task_queue):
    store = BlobStore("memory://")
    async with serving(client, task_queue, first, store=store) as letter:
        run = await letter.start("dear Ada")
        run2 = await letter.start("dear Bob")
        [r] = await pending(run)
        [r2] = await pending(run2)
        async with build(client, task_queue, "1", edited, store=store):
            await run.respond(r.request_id, True)
            print(
                "BOTH UP",
                (await run.result()).get_outputs(),
                (await run.handle.describe()).raw_description.workflow_execution_info.versioning_info,
            )
    async with build(client, task_queue, "1", edited, store=store):
        await run2.respond(r2.request_id, True)
        print(
            "VERSIONED ONLY",
            (await asyncio.wait_for(run2.result(), 30)).get_outputs(),
            (await run2.handle.describe()).raw_description.workflow_execution_info.versioning_info,
        )


async def test_d(client, task_queue):
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", first, store=store) as letter:
        run = await letter.start("dear Ada")
        [r] = await pending(run)
        await run.respond(r.request_id, True)
        await run.result()
    async with build(client, task_queue, "2", second, store=store):
        try:
            print("CLOSED QUERY", await asyncio.wait_for(run.handle.query("status"), 40))
        except BaseException as e:
            print("CLOSED QUERY FAILED", repr(e))
