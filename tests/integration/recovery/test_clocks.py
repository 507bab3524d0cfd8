"""Clocks differ between workers and stand still: which lineage of a session is the present one follows from neither."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from temporalio.client import Client

import temporal_adapter.host
from temporal_adapter import BlobCheckpointStorage, BlobStore, DurableSession
from temporal_adapter.recovery import adopt
from tests.integration.restoring.test_sessions import ledger
from tests.support.running import serving, until
from workers.dev_server import dev_server


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], datetime]], None]:
    """Sets the clock of the activities of this process."""
    modules = [importlib.import_module(f"temporal_adapter.host.{m.name}") for m in pkgutil.iter_modules(_HOST)]

    def put(clock: Callable[[], datetime]) -> None:
        for module in modules:
            if hasattr(module, "now"):
                monkeypatch.setattr(module, "now", lambda: clock().isoformat(timespec="microseconds"))

    return put


_HOST = temporal_adapter.host.__path__
_STANDING = datetime(2026, 1, 1, tzinfo=timezone.utc)


def present() -> datetime:
    return datetime.now(timezone.utc)


@pytest.mark.parametrize(
    ("before", "after"),
    [(lambda: present() + timedelta(hours=1), present), (lambda: _STANDING, lambda: _STANDING)],
    ids=["ahead at first", "standing still"],
)
async def test_a_session_that_was_reset_is_adopted_as_it_was_left(
    client: Client,
    task_queue: str,
    set_clock: Callable[[Callable[[], datetime]], None],
    before: Callable[[], datetime],
    after: Callable[[], datetime],
) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ledger, store=store) as durable:
        session = durable.session(f"{task_queue}-session")
        set_clock(before)
        await session.run(1)
        set_clock(after)
        await session.run(2)
        await session.reset()
        await session.run(5)

        await until(lambda: _is_mirrored(session))
        head = (await session.durable_run.status()).checkpoint_id
    storage = BlobCheckpointStorage(store, workflow=ledger(), workflow_id=session.id)
    latest = await storage.get_latest(workflow_name="ledger")
    assert latest is not None
    assert latest.checkpoint_id == head

    async with dev_server() as empty:
        elsewhere = await Client.connect(empty.address)
        [adoption] = await adopt(elsewhere, store)
        async with serving(elsewhere, task_queue, ledger, store=store) as durable:
            assert (adoption.state, adoption.checkpoint_id) == ("adopted", head)
            assert (await durable.session(session.id).run(100)).get_outputs() == [(105, [5, 100])]


async def test_a_replay_repeats_the_lineage_that_was_recorded_last(
    client: Client, task_queue: str, set_clock: Callable[[Callable[[], datetime]], None]
) -> None:
    async with serving(client, task_queue, ledger) as durable:
        session = durable.session(f"{task_queue}-session")
        set_clock(lambda: present() + timedelta(hours=1))
        [request] = (await session.run(500)).get_request_info_events()
        pause = (await session.durable_run.status()).checkpoint_id or ""
        await session.run(responses={request.request_id: False})
        set_clock(present)  # the run's own clock stands still now, and ids are drawn: chance is seldom right
        for yes in (False, False, False, False, True):
            await session.run(checkpoint_id=pause, responses={request.request_id: yes})
        await until(lambda: _is_mirrored(session))

        replay = await durable.replay(pause)

        assert (await replay.result()).get_outputs() == [(500, [500])]


async def _is_mirrored(session: DurableSession) -> bool:
    return not (await session.durable_run.status()).unmirrored_checkpoints
