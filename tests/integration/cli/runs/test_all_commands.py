"""What all commands about runs have in common: help, options, encryption, and runs that are not the adapter's."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import DataConverter, PayloadCodec
from temporalio.worker import Worker
from typer.testing import CliRunner

from temporal_adapter.cli.app import app
from tests.support.graphs import ask_once
from tests.support.running import pending, serving

from .conftest import Desk

COMMANDS = ["start", "list", "pending", "respond", "watch", "cancel", "move", "doctor"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_names_its_options_and_their_environment(command: str) -> None:
    ended = CliRunner(env={"COLUMNS": "80"}).invoke(app, [command, "--help"])

    assert ended.exit_code == 0
    for name in ["--json", "--namespace", "--profile", "TEMPORAL_ADAPTER_PAYLOAD_CODEC"]:
        assert name in ended.output


@pytest.mark.parametrize("words", [["list"], ["watch", "some-run"], ["respond", "some-run", "true"]])
async def test_a_server_that_does_not_answer_is_one_line(desk: Desk, words: list[str]) -> None:
    ended = await Desk({**desk.env, "TEMPORAL_ADDRESS": "127.0.0.1:1"}).type(*words)

    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("Error: no Temporal server answers at 127.0.0.1:1")
    assert ended.err.count("\n") == 1


class Flip(PayloadCodec):
    """Hides bytes by flipping them."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"flipped"}, data=bytes(byte ^ 255 for byte in one.SerializeToString()))
            for one in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(bytes(byte ^ 255 for byte in one.data)) for one in payloads]


async def test_encrypted_runs_are_served_with_the_codec(desk: Desk, client: Client, task_queue: str) -> None:
    converter = dataclasses.replace(DataConverter.default, payload_codec=Flip())
    encrypted = Client(**{**client.config(), "data_converter": converter})
    sealed = Desk({**desk.env, "TEMPORAL_ADAPTER_PAYLOAD_CODEC": f"{__name__}:Flip"})
    async with serving(encrypted, task_queue, ask_once) as durable:
        await sealed.json("start", "1", "--workflow", "ask-once", "--task-queue", task_queue, "--id", task_queue)
        await pending(durable.get_run(task_queue))

        inbox = await sealed.json("pending", task_queue)
        answered = await sealed.json("respond", task_queue, "true")
        watched = await sealed.type("watch", task_queue)

    assert inbox["requests"][0]["data"] == {"text": "ask: 1?", "amount": 0.5}
    assert answered["accepted"] is True
    assert 'output last ["last", "ask: 1? True"]' in watched.out


@workflow.defn(name="anothers", sandboxed=False)
class Anothers:
    """Not a workflow of the adapter."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)


@pytest.mark.parametrize("words", [["watch"], ["pending"], ["respond", "some-request", "true"]])
async def test_a_run_that_is_not_the_adapters_is_told(
    desk: Desk, client: Client, task_queue: str, words: list[str]
) -> None:
    async with Worker(client, task_queue=task_queue, workflows=[Anothers]):
        handle = await client.start_workflow(Anothers.run, id=task_queue, task_queue=task_queue)
        ended = await desk.type(words[0], task_queue, *words[1:])
        await handle.terminate()

    assert (ended.code, ended.out) == (1, "")
    assert f"the run {task_queue!r}, of workflow 'anothers', cannot answer" in ended.err
    assert ended.err.count("\n") == 1
