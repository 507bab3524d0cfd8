"""Bad input is an error that names the thing and the fix."""

from __future__ import annotations

from typing import Any

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from temporal_adapter import DurableRun, DurableWorkflow, ResponseRefused, RunNotFound, UnknownWorkflow
from temporal_adapter.values import EncodeError
from tests.support.graphs import Question, chain, typed_messages
from tests.support.running import failure_of, serving


@pytest.mark.parametrize("message", ["text", None, 1.5, [1], Question(text="?")], ids=repr)
async def test_a_python_input_that_no_handler_takes_fails_the_run_and_names_the_types(
    client: Client, task_queue: str, message: Any
) -> None:
    async with serving(client, task_queue, chain) as durable:
        run = await durable.start(message)
        error = await failure_of(run)
        events = [event async for event in run.events()]

    assert error.type == "InputNotHandled"
    assert "Start executor 'first' of workflow 'chain' cannot handle the input" in error.message
    assert "accepted types: int." in error.message
    assert [event.type for event in events[-2:]] == ["failed", "status"]


@pytest.mark.parametrize("message", ["text", None, 1.5, [1], {"a": 1}, True], ids=repr)
async def test_a_json_input_that_no_handler_takes_fails_the_run_and_names_the_types(
    client: Client, task_queue: str, message: Any
) -> None:
    async with serving(client, task_queue, chain):
        handle = await client.start_workflow("chain", message, id=task_queue, task_queue=task_queue)
        error = await failure_of(handle)

    assert error.type == "InputNotHandled"
    assert "cannot handle the input" in error.message
    assert "int" in error.message


async def test_json_with_a_wrong_field_is_refused_with_the_schema(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, typed_messages):
        handle = await client.start_workflow(
            "typed-messages", {"name": 1, "lines": "none"}, id=task_queue, task_queue=task_queue
        )
        error = await failure_of(handle)

    assert "tests.support.graphs:Order" in error.message


async def test_json_is_coerced_to_the_type_of_the_start_executor(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, typed_messages):
        handle = await client.start_workflow(
            "typed-messages", {"name": "a", "lines": {"b": 1}}, id=task_queue, task_queue=task_queue
        )
        result = await handle.result()

    assert result["outputs"] == [["last", {"name": "a", "lines": {"zero": 0, "b": 1}}]]


async def test_a_message_that_has_no_stored_form_is_refused_before_the_start(client: Client, task_queue: str) -> None:
    durable = DurableWorkflow(client, "chain", task_queue=task_queue)

    with pytest.raises(EncodeError, match="message: type generator cannot be stored"):
        await durable.start(number for number in range(3))


@pytest.mark.parametrize("options", ["json", [], {"encoding": "xml"}, {"encoding": "\ud800"}], ids=ascii)
async def test_start_options_of_another_shape_are_refused(client: Client, task_queue: str, options: Any) -> None:
    async with serving(client, task_queue, chain):
        handle = await client.start_workflow("chain", args=[1, options], id=task_queue, task_queue=task_queue)
        error = await failure_of(handle)

    assert error.type == "WireError"


@pytest.mark.parametrize("key", ["strem", "function_invocation_kwarg", ""])
async def test_an_unknown_start_option_is_refused_and_the_known_ones_are_named(
    client: Client, task_queue: str, key: str
) -> None:
    error = await _refusal(client, task_queue, {"stream": True, key: {"a": 1}})

    assert error.type == "WireError"
    assert error.message == (
        f"The run's options have the unknown key {key!r}. They may have: encoding, function_invocation_kwargs, "
        "client_kwargs, on_failure, stream, session, restore."
    )


async def test_start_options_may_say_their_schema_version(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain):
        options = {"v": 1, "on_failure": "fail"}
        handle = await client.start_workflow("chain", args=[1, options], id=task_queue, task_queue=task_queue)
        result = await handle.result()

    assert result["outputs"]


async def test_tools_are_refused_in_the_words_of_the_client(client: Client, task_queue: str) -> None:
    durable = DurableWorkflow(client, "chain", task_queue=task_queue)
    with pytest.raises(ValueError, match="Give the agents their tools in the factory") as refused:
        await durable.start(1, tools=[print])  # type: ignore[arg-type]

    error = await _refusal(client, task_queue, {"tools": []})

    assert error.message == str(refused.value)


@pytest.mark.parametrize("name", ["function_invocation_kwargs", "client_kwargs"])
async def test_kwargs_that_are_nested_too_deeply_are_refused(client: Client, task_queue: str, name: str) -> None:
    error = await _refusal(client, task_queue, {name: {"a": nested(400)}})

    assert (error.type, error.message) == ("WireError", "The JSON is nested more than 150 levels deep.")


async def _refusal(client: Client, task_queue: str, options: Any) -> ApplicationError:
    """Start a run with options; return what it failed with."""
    async with serving(client, task_queue, chain):
        handle = await client.start_workflow("chain", args=[1, options], id=task_queue, task_queue=task_queue)
        return await failure_of(handle)


def nested(levels: int) -> Any:
    """Return JSON of so many levels."""
    data: Any = 1
    for level in range(levels):
        data = {"a": data} if level % 2 else [data]
    return data


# --- a client that asks for what is not there ---------------------------------------------------------------


async def test_a_workflow_that_the_workers_do_not_have_is_named(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain):
        run = await DurableWorkflow(client, "no-such-workflow", task_queue=task_queue).start(1)

        for ask in (run.result, run.status):
            with pytest.raises(
                UnknownWorkflow, match=f"queue '{task_queue}' have no workflow called 'no-such-workflow'"
            ):
                await ask()

        await run.handle.terminate("it never ran")


async def test_a_run_that_is_not_there_is_named(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        run = durable.get_run("no-such-run")

        for ask in (run.result, run.status, run.pending_requests, run.checkpoints, _respond(run), _events(run)):
            with pytest.raises(RunNotFound, match="no run with workflow id 'no-such-run'"):
                await ask()


async def test_a_response_to_a_run_that_has_ended_is_refused(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, chain) as durable:
        run = await durable.start(1)
        await run.result()

        with pytest.raises(ResponseRefused, match="closed"):
            await run.respond("some-id", True)


def _respond(run: DurableRun) -> Any:
    return lambda: run.respond("some-id", True)


def _events(run: DurableRun) -> Any:
    async def read() -> None:
        async for _ in run.events():
            raise AssertionError("there is none")

    return read
