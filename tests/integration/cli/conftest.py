"""A checkpoint store as real runs left it, and a shell in a developer's folder, for tests of `temporal-adapter`.

The runs are made once for all tests, on the session's server; then their worker is gone. The workflow is in a module
`shop` of the developer's own: a request of a sub-workflow, a fan-in, a second request, and a value that is not inline.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import BlobCheckpointStorage, BlobStore, wire
from temporal_adapter.store import RECORDED_RANK, CheckpointStore
from tests.support import shells
from tests.support.running import pending, serving

SHOP = Path(__file__).with_name("shop.txt").read_text()
"""The module `shop`. It is not a module of this repository, so that its types have the developer's names."""

QUEUE = "cli-orders"

SENTENCES = "All of it is in order. " * 1000


@dataclass(frozen=True)
class Store:
    """A checkpoint store that real runs have written: `order-1` has ended, `order-2` waits for its first answer.

    Of `order-1`, `what-if` went on from the pause before the last answer, and was answered otherwise.
    """

    folder: Path
    legal_request: str
    manager_request: str
    waiting_request: str
    lineages: dict[str, list[str]]  # the ids of the checkpoints, by workflow id


class Shell(shells.Shell):
    """A developer's shell, in a folder that has the module `shop`."""

    def __init__(self, folder: Path, store: Store, namespace: str) -> None:
        super().__init__(folder, TEMPORAL_ADAPTER_CHECKPOINT_STORE=str(store.folder), TEMPORAL_NAMESPACE=namespace)
        self._lineages = store.lineages

    def checkpoints(self, workflow_id: str) -> list[dict[str, Any]]:
        """Return what `checkpoint list` says of the checkpoints of a workflow id."""
        return self.json("checkpoint", "list", workflow_id)["checkpoints"]

    def id_of(self, workflow_id: str, place: int) -> str:
        """Return the id of a checkpoint by its place in the lineage."""
        return self._lineages[workflow_id][place]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The developer's module, imported here, where the worker is."""
    folder = tmp_path_factory.mktemp("developer")
    (folder / "shop.py").write_text(SHOP)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("shop")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("shop", None)


@pytest.fixture(scope="session")
async def written(client: Client, shop: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("store") / "checkpoints"
    store = BlobStore(folder)
    async with serving(client, QUEUE, shop.build_order, store=store) as order:
        run = await order.start(shop.Order(customer="Ada", amount=3), id="order-1")
        [legal] = await pending(run)
        await run.respond(legal.request_id, SENTENCES, responder="Lea")
        manager = await _next(run, legal.request_id)
        await run.respond(manager, True)
        await run.result()
        waiting = await order.start(shop.Order(customer="Bob", amount=5), id="order-2")
        [open_request] = await pending(waiting)
    await _what_if(shop, store, client.namespace, manager)
    lineages = {id_: await _ids(shop, store, client.namespace, id_) for id_ in ("order-1", "order-2", "what-if")}
    return Store(folder, legal.request_id, manager, open_request.request_id, lineages)


async def _ids(shop: ModuleType, store: BlobStore, namespace: str, workflow_id: str) -> list[str]:
    workflow = shop.build_order()
    storage = BlobCheckpointStorage(store, workflow=workflow, namespace=namespace, workflow_id=workflow_id)
    return await storage.list_checkpoint_ids(workflow_name="order")


async def _next(run: Any, answered: str) -> str:
    while True:
        requests = await pending(run)
        if requests[0].request_id != answered:
            return requests[0].request_id


async def _what_if(shop: ModuleType, store: BlobStore, namespace: str, request_id: str) -> None:
    """Run on from the pause of `order-1`, in-process and with another answer, into the same store."""
    theirs = BlobCheckpointStorage(store, workflow=shop.build_order(), namespace=namespace, workflow_id="order-1")
    paused = [
        one
        for one in await theirs.list_checkpoints(workflow_name="order")
        if request_id in one.pending_request_info_events
    ]
    ours = BlobCheckpointStorage(store, workflow=shop.build_order(), namespace=namespace, workflow_id="what-if")
    await shop.build_order().run(
        checkpoint_id=paused[-1].checkpoint_id, checkpoint_storage=ours, responses={request_id: False}
    )


async def commit(
    folder: Path,
    checkpoint_id: str,
    parent: str | None = None,
    *,
    workflow_id: str,
    number: int = 0,
    kind: str = "superstep",
) -> None:
    """Write an empty checkpoint of a workflow `made`, in the namespace `default`, for lineages no run can have yet."""
    header = wire.CheckpointHeader(
        checkpoint_id=checkpoint_id,
        previous_checkpoint_id=parent,
        iteration=number,
        timestamp=f"2026-01-01T00:00:00.{number:06}+00:00",
        kind=kind,  # type: ignore[arg-type]
    )
    record = wire.CheckpointRecord(header=header, snapshot=wire.Snapshot(changes=wire.Changes()))
    graph = wire.Graph(name="made", signature="s", start_executor_id="a", executors=["a"], max_iterations=1)
    store = CheckpointStore(BlobStore(folder), "default")
    await store.commit(record, graph=graph, workflow_id=workflow_id, rank=RECORDED_RANK)


@pytest.fixture
def store(written: Store) -> Store:
    """The store, not to be changed."""
    return written


@pytest.fixture
def copied(written: Store, tmp_path: Path) -> Path:
    """A copy of the store, for damage."""
    return Path(shutil.copytree(written.folder, tmp_path / "copy"))


@pytest.fixture
def shell(store: Store, client: Client, tmp_path: Path) -> Shell:
    """A shell whose environment names the store."""
    folder = tmp_path / "developer"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    return Shell(folder, store, client.namespace)


@pytest.fixture
def online(shell: Shell, copied: Path, server: str) -> Shell:
    """The same shell, where the server is reached, and the store is a copy that may be changed."""
    shell.env |= {"TEMPORAL_ADDRESS": server, "TEMPORAL_ADAPTER_CHECKPOINT_STORE": str(copied)}
    return shell


@pytest.fixture
async def worked(client: Client, shop: ModuleType, copied: Path, online: Shell) -> AsyncIterator[Shell]:
    """The same, while a worker serves the task queue of the store's runs."""
    once = ActivityConfig(retry_policy=RetryPolicy(maximum_attempts=1))
    async with serving(client, QUEUE, shop.build_order, store=BlobStore(copied), default_activity_options=once):
        yield online
