"""Runs that move to a newer build of the workers, at a checkpoint: asked by an operator, or because they are set to."""

from __future__ import annotations

from contextlib import AsyncExitStack

from temporalio.client import Client

from temporal_adapter import BlobStore, DurableRun, DurableWorkflow
from tests.integration.cli.runs.conftest import Desk
from tests.support.deployments import build, build_of, temporal
from tests.support.releases import books, edited, first, second
from tests.support.running import pending, until


async def lineage(run: DurableRun) -> list[str]:
    """Return the ids of a run's checkpoints, once it is sure that each has the one before as its parent."""
    checkpoints = await run.checkpoints()
    ids = [one.checkpoint_id for one in checkpoints]
    assert [one.previous_checkpoint_id for one in checkpoints] == [None, *ids[:-1]]
    return ids


async def outcomes(desk: Desk, *words: str, code: int = 0) -> list[tuple[str, str | None]]:
    """Have runs moved; return what became of each, and the build it is on then."""
    document = await desk.json("move", *words, code=code)
    return [(one["outcome"], one["to_build"]) for one in document["runs"]]


async def test_a_run_that_waits_for_a_person_is_moved_with_all_that_it_has(
    client: Client, task_queue: str, desk: Desk
) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", first, store=store) as letter:
        run = await letter.start("dear Ada")
        [asked] = await pending(run)
        before = await lineage(run)
        async with build(client, task_queue, "2", edited, store=store):
            shown = await desk.type("move", run.id)
            [still] = await pending(run)
            again = await outcomes(desk, run.id)

            # Then it is the same run, asks the same, and ends on the new build
            await run.respond(asked.request_id, True)
            assert (await run.result()).get_outputs() == ["dear Ada: True, by release 1 edited"]
            after = await lineage(run)
            assert await build_of(client, run.id) == "2"

    assert (shown.code, shown.out.split()[-7:]) == (0, [run.id, "moved", "from", "build", "'1'", "to", "'2'"])
    assert (still.request_id, still.data) == (asked.request_id, asked.data)
    assert again == [("there", None)]
    assert after[: len(before)] == before
    assert len(after) > len(before)


async def test_a_session_is_moved_from_build_to_build_and_keeps_its_state(
    client: Client, task_queue: str, desk: Desk
) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", lambda: books("1"), store=store) as ledger:
        session = ledger.session(task_queue)
        assert (await session.run(5)).get_outputs() == [(5, "1")]
        # Given that it waits for a person
        await session.run(500)
        [asked] = await pending(session.durable_run)
        async with build(client, task_queue, "2", lambda: books("2"), store=store):
            assert await outcomes(desk, session.id) == [("moved", "2")]
            await pending(session.durable_run)
            answered = await session.run(responses={asked.request_id: True})
            assert answered.get_outputs() == [(505, "2")]
            # And then, that it waits for an input
            async with build(client, task_queue, "3", lambda: books("3"), store=store):
                assert await outcomes(desk, session.id) == [("moved", "3")]
                assert (await session.run(1)).get_outputs() == [(506, "3")]
                await lineage(session.durable_run)
                await session.close()


async def test_runs_that_are_set_to_move_go_over_at_their_next_checkpoint_once_something_wakes_them(
    client: Client, task_queue: str
) -> None:
    async with AsyncExitStack() as builds:

        async def up(release: str) -> DurableWorkflow:
            return await builds.enter_async_context(
                build(client, task_queue, release, lambda: books(release), store=store, move_waiting_runs=True)
            )

        store = BlobStore("memory://")
        session = (await up("1")).session(task_queue)
        assert (await session.run(5)).get_outputs() == [(5, "1")]
        for release, total in (("2", 6), ("3", 8)):
            await up(release)
            assert await build_of(client, session.id) != release  # it sleeps

            await session.run(1)  # wakes it

            async def moved(release: str = release) -> bool:
                return await build_of(client, session.id) == release

            await until(moved)
            assert (await session.run(1)).get_outputs() == [(total + 1, release)]
        await session.close()


async def test_pinned_runs_that_are_not_set_to_move_stay(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", lambda: books("1"), store=store) as ledger:
        session = ledger.session(task_queue)
        await session.run(5)
        async with build(client, task_queue, "2", lambda: books("2"), store=store):
            assert (await session.run(1)).get_outputs() == [(6, "1")]
            assert (await session.run(1)).get_outputs() == [(7, "1")]
            assert await build_of(client, session.id) == "1"
            await session.close()


async def test_a_run_that_was_moved_to_another_graph_waits_there_and_can_be_put_back(
    client: Client, task_queue: str, desk: Desk
) -> None:
    store = BlobStore("memory://")
    async with build(client, task_queue, "1", first, store=store) as letter:
        run = await letter.start("dear Ada")
        [asked] = await pending(run)
        async with build(client, task_queue, "2", second, store=store):
            await outcomes(desk, run.id)
            await run.handle.signal("respond", {"request_id": asked.request_id, "response": True})
            warning = await anext(event async for event in run.events() if event.type == "warning")
            assert "executors added: 'polish'" in warning.data

            # When an operator puts it back by Temporal's own command, then it ends as if nothing had happened
            override = ["--versioning-override-behavior", "one_time", "--versioning-override-build-id", "1"]
            deployment = ["--versioning-override-deployment-name", task_queue]
            await temporal(client, "workflow", "update-options", "--workflow-id", run.id, *override, *deployment)
            assert (await run.result()).get_outputs() == ["dear Ada: True, by release 1"]
            assert await build_of(client, run.id) == "1"
