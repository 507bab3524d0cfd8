"""Two builds of the workers on one server: which of them a run is on, and what becomes of runs while one drains."""

from __future__ import annotations

from pathlib import Path

from temporalio.client import Client

from temporal_adapter import BlobStore
from tests.support import commands
from tests.support.deployments import build, build_of, make_current, status_of
from tests.support.killable import BRISK, HELD, HeldStore, account
from tests.support.releases import edited, first, second
from tests.support.running import pending


async def test_a_pinned_run_that_waits_ends_on_its_build_while_new_ones_begin_on_the_next(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", first, store=store) as letter:
        old = await letter.start("dear Ada")
        [request] = await pending(old)

        # When a release with another graph comes up beside it, and new runs begin there
        async with build(client, task_queue, "2", second, store=store):
            new = await letter.start("dear Bob")
            [later] = await pending(new)
            draining = await status_of(client, task_queue, "1")
            await old.respond(request.request_id, True)
            await new.respond(later.request_id, True)

            # Then each ends on the build whose graph is its own
            assert (await old.result()).get_outputs() == ["dear Ada: True, by release 1"]
            assert (await new.result()).get_outputs() == ["DEAR BOB: TRUE, by release 2"]
            assert [await build_of(client, one.id) for one in (old, new)] == ["1", "2"]
            assert draining == "DRAINING"


async def test_an_auto_upgrade_run_goes_over_by_itself_with_its_next_step(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", first, store=store, default_versioning_behavior="auto_upgrade") as letter:
        run = await letter.start("dear Ada")
        [request] = await pending(run)
        async with build(client, task_queue, "2", edited, store=store, default_versioning_behavior="auto_upgrade"):
            await run.respond(request.request_id, True)

            assert (await run.result()).get_outputs() == ["dear Ada: True, by release 1 edited"]
            assert await build_of(client, run.id) == "2"


async def test_an_auto_upgrade_run_waits_on_a_build_with_another_graph_until_that_is_rolled_back(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", first, store=store, default_versioning_behavior="auto_upgrade") as letter:
        run = await letter.start("dear Ada")
        [request] = await pending(run)
        # Given a release with another graph, which the run does not fit
        async with build(client, task_queue, "2", second, store=store, default_versioning_behavior="auto_upgrade"):
            await run.handle.signal("respond", {"request_id": request.request_id, "response": True})
            warning = await anext(event async for event in run.events() if event.type == "warning")
            assert "A response waits, and is tried again" in warning.data

            # When the release is taken back, then the run ends as if nothing had happened
            await make_current(client, task_queue, "1")
            assert (await run.result()).get_outputs() == ["dear Ada: True, by release 1"]
            assert await build_of(client, run.id) == "1"


async def test_runs_of_a_build_whose_worker_is_killed_while_it_drains_wait_for_another_of_that_build(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    program = ["-m", "tests.support.killable", client.service_client.config.target_host, client.namespace]
    held = tmp_path / "hold-executor"
    with commands.started(*program, task_queue, str(tmp_path), "1", env=commands.environment()) as process:
        commands.line_with(process, "ready")
        await make_current(client, task_queue, "1")
        async with build(client, task_queue, "2", account(tmp_path), store=HeldStore(tmp_path), current=False) as books:
            # Given a run that waits on the old build, and one whose executor is at work there
            waiting = await books.start(150)
            [request] = await pending(waiting)
            held.touch()
            busy = await books.start(7)
            commands.line_with(process, HELD)
            await make_current(client, task_queue, "2")

            # When its only worker is killed, and the waiting run is answered
            process.kill()
            held.unlink()
            await waiting.handle.signal("respond", {"request_id": request.request_id, "response": True})

            # Then new runs go on the new build, and those of the old one as soon as it has a worker
            assert (await (await books.start(1)).result()).get_outputs() == [1]
            async with build(
                client,
                task_queue,
                "1",
                account(tmp_path),
                store=HeldStore(tmp_path),
                current=False,
                default_activity_options=BRISK,
            ):
                assert (await waiting.result()).get_outputs() == [150]
                assert (await busy.result()).get_outputs() == [7]
                assert [await build_of(client, one.id) for one in (waiting, busy)] == ["1", "1"]
