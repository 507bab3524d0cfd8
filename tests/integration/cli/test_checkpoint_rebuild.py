"""`temporal-adapter checkpoint rebuild` and `verify`: store and Temporal held against each other."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.converter import DataConverter

from temporal_adapter import BlobStore
from temporal_adapter.recovery import verify
from tests.support.graphs import ask_once
from tests.support.running import pending, serving
from workers.dev_server import dev_server

from .conftest import SENTENCES, Shell, Store
from .test_command_line import CODEC


def test_a_lost_store_is_written_again(online: Shell, store: Store, tmp_path: Path) -> None:
    lost, ids = ("--checkpoint-store", str(tmp_path / "new" / "store")), store.lineages["order-2"]

    ended = online.run("checkpoint", "rebuild", "order-2", *lost)
    verified = online.run("checkpoint", "verify", "order-2", *lost)

    assert (ended.code, ended.err) == (0, f"There is no directory {lost[1]}: it is made.\n")
    heading, row = ended.out.splitlines()
    assert heading.split("  ")[0] == "RUN"
    assert row.split()[1:] == ["order", str(len(ids)), "0", "0", "0", "0"]
    assert (verified.code, verified.err) == (0, "")
    assert verified.out == f"{len(ids)} checkpoints of 1 run: nothing differs\n"


def test_what_was_in_the_store_alone_is_named_as_lost(online: Shell, store: Store, tmp_path: Path) -> None:
    ended = online.run("checkpoint", "rebuild", "order-1", "--checkpoint-store", str(tmp_path / "new"))

    assert ended.code == 1
    _, row, *lines = ended.out.splitlines()
    found = [re.fullmatch(r"checkpoint (\S+): \S+ is lost: (\d+) bytes, value \w+", line) for line in lines]
    named = [(one[1] in store.lineages["order-1"], int(one[2]) > len(SENTENCES)) for one in found if one is not None]
    assert named
    assert named == [(True, True)] * len(lines)
    assert row.split()[-2] == str(len(lines))


def test_verify_says_which_checkpoint_is_missing_and_rebuild_writes_it(
    online: Shell, store: Store, copied: Path
) -> None:
    *others, head = store.lineages["order-2"]
    [manifest] = [path for path in copied.rglob("*.json") if head in str(path) and "checkpoints" in path.parts]
    manifest.unlink()

    ended = online.run("checkpoint", "verify", "order-2")
    document = online.json("checkpoint", "verify", "order-2", code=1)
    rebuilt = online.json("checkpoint", "rebuild", "order-2", "--run-id", document["run_ids"][0])

    assert ended.code == 1
    assert ended.out.startswith(f"checkpoint {head}: missing")
    assert ended.out.splitlines()[-1].endswith(" of 1 run: 1 difference")
    [difference] = document["differences"]
    assert (document["same"], difference["kind"], difference["checkpoint_id"]) == (False, "missing", head)
    assert (rebuilt["complete"], rebuilt["runs"][0]["written"], rebuilt["runs"][0]["kept"]) == (True, [head], others)


def test_a_run_that_is_not_on_the_server_is_told(online: Shell) -> None:
    ended = online.run("checkpoint", "rebuild", "nobody")

    assert (ended.code, ended.out) == (4, "")
    assert "has no run 'nobody' in this namespace" in ended.err


def test_a_server_that_is_not_there_is_told_and_no_store_is_made(online: Shell, tmp_path: Path) -> None:
    new = tmp_path / "new"

    ended = online.run(
        "checkpoint", "rebuild", "order-2", "--checkpoint-store", str(new), TEMPORAL_ADDRESS="127.0.0.1:1"
    )

    assert (ended.code, ended.out) == (3, "")
    assert "no Temporal server answers at 127.0.0.1:1" in ended.err
    assert not new.exists()


async def test_what_is_encrypted_is_mended_with_its_codec(
    online: Shell, connect: Callable[..., Awaitable[Client]], task_queue: str, tmp_path: Path
) -> None:
    names: dict[str, Any] = {}
    exec(CODEC, names)
    (online.folder / "security.py").write_text(CODEC)
    sealed, lost = await connect(data_converter=DataConverter(payload_codec=names["codec"])), str(tmp_path / "lost")
    async with serving(sealed, task_queue, ask_once, store=BlobStore(tmp_path / "store")) as durable:
        run = await durable.start(1, id=task_queue)
        await pending(run)

    rebuilt = online.json(
        "checkpoint", "rebuild", task_queue, "--checkpoint-store", lost, "--payload-codec", "security:Flip"
    )

    await run.handle.terminate()
    assert rebuilt["complete"]
    assert len(rebuilt["runs"][0]["written"]) == 2
    assert (await verify(sealed, task_queue, lost)).same


def test_another_namespace_is_that_of_server_and_store(online: Shell) -> None:
    ended = online.run("checkpoint", "verify", "order-2", "--namespace", "nowhere")

    assert ended.code == 3
    assert "has no namespace 'nowhere'" in ended.err


async def test_all_runs_are_written_again_those_that_others_build_on_first(
    client: Client, task_queue: str, online: Shell, tmp_path: Path
) -> None:
    namespace, kept, lost = client.namespace, BlobStore(tmp_path / "kept"), tmp_path / "lost"
    async with dev_server(arguments=["--namespace", namespace]) as server:
        own = await Client.connect(server.address, namespace=namespace)
        async with serving(own, task_queue, ask_once, store=kept) as durable:
            run = await durable.start(1, id="z-first")
            await pending(run)
            fork = await durable.fork((await run.checkpoints())[0].checkpoint_id, id="a-fork")
            await pending(fork)
            await own.start_workflow("another application's", id="foreign", task_queue="elsewhere")
            listed: list[str] = []
            while len(listed) < 3:
                listed = [one.id async for one in own.list_workflows()]

            ended = await online.serve(
                *("checkpoint", "rebuild", "--all", "--json", "--checkpoint-store", str(lost)),
                TEMPORAL_ADDRESS=server.address,
            )
            again = [await verify(own, id, BlobStore(lost)) for id in ("z-first", "a-fork")]

    document = json.loads(ended.out)
    assert (ended.code, document["complete"], document["workflow_id"]) == (0, True, None)
    assert [one.same for one in again] == [True, True]


def test_rebuild_wants_one_workflow_id_or_all(online: Shell) -> None:
    neither, both = online.run("checkpoint", "rebuild"), online.run("checkpoint", "rebuild", "order-1", "--all")

    assert (neither.code, both.code) == (2, 2)
    assert "or --all" in neither.err
