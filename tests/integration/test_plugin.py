"""The plugin on clients, workers and replayers, and what it leaves as the user has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from agent_framework import ValidationTypeEnum, WorkflowValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory
from temporalio.common import RetryPolicy
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    DefaultPayloadConverter,
    PayloadCodec,
)
from temporalio.worker import Replayer, Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, DurableWorkflow
from tests.support.graphs import Order, chain, fan_out_fan_in, typed_messages
from tests.support.histories import attempts, deliveries
from tests.support.running import failure_of, serving, with_plugin
from tests.support.scripted import failing

SECRET = "0x5EC2E7"


class Rot128(PayloadCodec):
    """Makes payloads unreadable, as an encrypting codec does."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"binary/rot128"}, data=_turned(one.SerializeToString())) for one in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(_turned(one.data)) for one in payloads]


class OwnFailureConverter(DefaultFailureConverter):
    """The user's."""


class OwnPayloadConverter(DefaultPayloadConverter):
    """The user's."""


def _turned(data: bytes) -> bytes:
    return bytes((byte + 128) % 256 for byte in data)


def plugin(*factories: Any, **options: Any) -> AgentFrameworkPlugin:
    """A plugin with a store of its own."""
    return AgentFrameworkPlugin(list(factories), **{"checkpoint_store": "memory://", **options})


async def test_attached_to_the_client_it_reaches_workers_and_replayers(client: Client, task_queue: str) -> None:
    attached = with_plugin(client, plugin(chain))
    async with Worker(attached, task_queue=task_queue):
        run = await DurableWorkflow(attached, "chain", task_queue=task_queue).start(1)
        assert (await run.result()).get_outputs() == [("last", 12)]

    history = await run.handle.fetch_history()
    replayed = await Replayer(workflows=[], plugins=[plugin(chain)]).replay_workflow(history)
    assert replayed.replay_failure is None


async def test_attached_to_a_worker_only_it_serves_clients_without_it(client: Client, task_queue: str) -> None:
    async with Worker(client, task_queue=task_queue, plugins=[plugin(chain)]):
        run = await DurableWorkflow(client, "chain", task_queue=task_queue).start(1)

        assert (await run.result()).get_outputs() == [("last", 12)]


@pytest.mark.parametrize("where", ["client", "worker"])
async def test_the_order_of_a_dicts_keys_is_kept(client: Client, task_queue: str, where: str) -> None:
    ours = plugin(typed_messages)
    attached = with_plugin(client, ours) if where == "client" else client
    order = Order("kept", {"z": 1, "a": 2, "m": 3})
    async with Worker(attached, task_queue=task_queue, plugins=[] if where == "client" else [ours]):
        run = await DurableWorkflow(attached, "typed-messages", task_queue=task_queue).start(order)
        [(_, output)] = (await run.result()).get_outputs()

    assert list(output.lines) == ["zero", "z", "a", "m"]


async def test_one_plugin_serves_several_graphs(client: Client, task_queue: str) -> None:
    attached = with_plugin(client, plugin(chain, fan_out_fan_in))
    async with Worker(attached, task_queue=task_queue):
        first = await DurableWorkflow(attached, "chain", task_queue=task_queue).start(1)
        second = await DurableWorkflow(attached, "fan out and in", task_queue=task_queue).start(1)

        assert (await first.result()).get_outputs() == [("last", 12)]
        assert (await second.result()).get_outputs() == [("join", [12, 22])]


async def test_a_built_instance_serves_many_runs(client: Client, task_queue: str) -> None:
    attached = with_plugin(client, plugin(chain()))
    async with Worker(attached, task_queue=task_queue):
        durable = DurableWorkflow(attached, "chain", task_queue=task_queue)
        runs = [await durable.start(number) for number in range(5)]

        assert [(await run.result()).get_outputs() for run in runs] == [[("last", number + 11)] for number in range(5)]


async def test_workflow_and_activity_types_are_named_after_graph_and_executors(client: Client, task_queue: str) -> None:
    history = await _history(client, task_queue, fan_out_fan_in, 1)

    started = history.events[0].workflow_execution_started_event_attributes
    assert started.workflow_type.name == "fan out and in"
    assert sorted(event.activity_type.name for event in deliveries(history)) == [
        "fan out and in/join",
        "fan out and in/left",
        "fan out and in/right",
        "fan out and in/start",
    ]


# --- options ------------------------------------------------------------------------------------------------


async def test_executors_have_a_timeout_and_a_bound_on_attempts_by_default(client: Client, task_queue: str) -> None:
    history = await _history(client, task_queue, chain, 1)

    for event in deliveries(history):
        assert event.start_to_close_timeout.ToTimedelta() == timedelta(minutes=5)
        assert event.retry_policy.maximum_attempts == 5


async def test_options_of_an_executor_reach_temporal_verbatim(client: Client, task_queue: str) -> None:
    options = ActivityConfig(
        task_queue=f"{task_queue}-other",
        start_to_close_timeout=timedelta(seconds=11),
        schedule_to_close_timeout=timedelta(seconds=77),
        schedule_to_start_timeout=timedelta(seconds=55),
        heartbeat_timeout=timedelta(seconds=3),
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=2),
            backoff_coefficient=3.0,
            maximum_interval=timedelta(seconds=9),
            maximum_attempts=7,
            non_retryable_error_types=["ValueError"],
        ),
        summary="adds ten",
    )
    default = ActivityConfig(start_to_close_timeout=timedelta(seconds=44))
    ours = plugin(chain, default_activity_options=default, activity_options={"chain/second": options})
    attached = with_plugin(client, ours)
    async with (
        Worker(attached, task_queue=task_queue),
        Worker(attached, task_queue=f"{task_queue}-other"),
    ):
        run = await DurableWorkflow(attached, "chain", task_queue=task_queue).start(1)
        await run.result()

    history = await run.handle.fetch_history()
    first, second, last = deliveries(history)
    assert second.task_queue.name == f"{task_queue}-other"
    assert second.start_to_close_timeout.ToTimedelta() == timedelta(seconds=11)
    assert second.schedule_to_close_timeout.ToTimedelta() == timedelta(seconds=77)
    assert second.schedule_to_start_timeout.ToTimedelta() == timedelta(seconds=55)
    assert second.heartbeat_timeout.ToTimedelta() == timedelta(seconds=3)
    assert second.retry_policy.initial_interval.ToTimedelta() == timedelta(seconds=2)
    assert second.retry_policy.backoff_coefficient == 3.0
    assert second.retry_policy.maximum_interval.ToTimedelta() == timedelta(seconds=9)
    assert second.retry_policy.maximum_attempts == 7
    assert list(second.retry_policy.non_retryable_error_types) == ["ValueError"]
    assert [b"adds ten" in summary for summary in _summaries(history)] == [False, False, True, False]
    assert {one.start_to_close_timeout.ToTimedelta() for one in (first, last)} == {timedelta(seconds=44)}
    assert {one.task_queue.name for one in (first, last)} == {task_queue}


async def test_a_programming_error_of_maf_is_not_retried(client: Client, task_queue: str) -> None:
    build = failing(lambda: WorkflowValidationError("the graph is wrong", ValidationTypeEnum.TYPE_COMPATIBILITY))
    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        failure = await failure_of(run)

    assert failure.type == "WorkflowValidationError"
    assert attempts(await run.handle.fetch_history())["failing/fails"] == 1


async def test_a_message_that_cannot_be_stored_is_named_and_not_retried(client: Client, task_queue: str) -> None:
    build = failing(lambda: None, sends=object())
    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        failure = await failure_of(run)

    assert "'fails'" in failure.message
    assert "message[0]" in failure.message
    assert attempts(await run.handle.fetch_history())["failing/fails"] == 1


# --- the user's data converter ------------------------------------------------------------------------------


async def test_payloads_are_unreadable_in_a_history_under_an_encrypting_codec(client: Client, task_queue: str) -> None:
    encrypted = Client(
        **{**client.config(), "data_converter": dataclasses.replace(DataConverter.default, payload_codec=Rot128())}
    )
    async with serving(encrypted, task_queue, typed_messages) as durable:
        run = await durable.start(Order(SECRET, {"b": 1}))
        [(_, output)] = (await run.result()).get_outputs()

    assert output == Order(SECRET, {"zero": 0, "b": 1})
    history = await run.handle.fetch_history()
    assert all(SECRET.encode() not in event.SerializeToString() for event in history.events)


def test_a_users_codec_failure_converter_and_payload_converter_are_kept(client: Client) -> None:
    own = DataConverter(
        payload_converter_class=OwnPayloadConverter,
        failure_converter_class=OwnFailureConverter,
        payload_codec=Rot128(),
    )

    attached = with_plugin(Client(**{**client.config(), "data_converter": own}), plugin(chain))

    assert attached.data_converter.payload_converter_class is OwnPayloadConverter
    assert attached.data_converter.failure_converter_class is OwnFailureConverter
    assert attached.data_converter.payload_codec is own.payload_codec


async def test_a_graph_runs_with_a_users_payload_converter(client: Client, task_queue: str) -> None:
    own = Client(**{**client.config(), "data_converter": DataConverter(payload_converter_class=OwnPayloadConverter)})
    async with serving(own, task_queue, typed_messages) as durable:
        run = await durable.start(Order("own", {"b": 1}))

        assert (await run.result()).get_outputs() == [("last", Order("own", {"zero": 0, "b": 1}))]


async def _history(client: Client, task_queue: str, build: Any, message: Any) -> WorkflowHistory:
    async with serving(client, task_queue, build) as durable:
        run = await durable.start(message)
        await run.result()
    return await run.handle.fetch_history()


def _summaries(history: WorkflowHistory) -> list[bytes]:
    return [
        event.user_metadata.summary.data
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    ]
