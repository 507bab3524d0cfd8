"""`temporal-adapter start`: a run from JSON, a file, or text."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest import mock

import pytest
from temporalio.client import Client

from tests.support.graphs import ask_once, chain, designations

from .conftest import Desk, Serve


async def test_a_run_is_started_and_its_outputs_are_shown(
    desk: Desk, serve: Serve, client: Client, task_queue: str
) -> None:
    async with serve(chain):
        ended = await desk.type(
            "start", "1", "--workflow", "chain", "--task-queue", task_queue, "--id", task_queue, "--wait"
        )

    run_id = (await client.get_workflow_handle(task_queue).describe()).run_id
    elsewhere = "" if client.namespace == "default" else f" --namespace {client.namespace}"
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        f"workflow id: {task_queue}",
        f"run id: {run_id}",
        f"to follow it: temporal-adapter watch {task_queue}{elsewhere}",
        'output ["last", 12]',
        "state: IDLE",
    ]


async def test_it_waits_until_somebody_must_answer_and_says_how(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(ask_once) as durable:
        ended = await desk.type(
            "start", "1", "--workflow", "ask-once", "--task-queue", task_queue, "--id", task_queue, "--wait"
        )
        [request] = await durable.get_run(task_queue).open_requests()

    *_, asked, how, state = ended.out.splitlines()
    assert ended.code == 0
    assert asked.startswith(f"Waits for a response to {request.request_id} of ask, of type bool:")
    assert how.startswith(f"to answer it: temporal-adapter respond {task_queue} {request.request_id}")
    assert state == "state: IDLE_WITH_PENDING_REQUESTS"


async def test_an_input_comes_from_a_file_from_standard_input_or_as_text(
    desk: Desk, serve: Serve, task_queue: str, tmp_path: Path
) -> None:
    to = ["--workflow", "chain", "--task-queue", task_queue, "--wait"]
    (tmp_path / "input.json").write_text("1")
    async with serve(chain):
        of_file = await desk.json("start", f"@{tmp_path / 'input.json'}", *to)
        ended = await desk.type("start", "@-", *to, "--json", stdin="1")
        of_text = await desk.json("start", "--text", "1", *to, code=1)

    assert of_file["outputs"] == [["last", 12]]
    assert '"last"' in ended.out
    assert of_text["state"] == "FAILED"
    assert 'the JSON value "1"' in of_text["error"]["message"]  # a text, which is no number


async def test_a_run_that_fails_is_a_finding(desk: Desk, serve: Serve, task_queue: str) -> None:
    async with serve(chain):
        ended = await desk.type("start", '"no number"', "--workflow", "chain", "--task-queue", task_queue, "--wait")

    assert ended.code == 1
    assert ended.err.startswith("Error: the run 'chain-")
    assert "InputNotHandled" in ended.err
    assert ended.err.count("\n") == 1


async def test_a_run_without_a_worker_is_started_with_a_warning(desk: Desk, task_queue: str, client: Client) -> None:
    document = await desk.type("start", "1", "--workflow", "chain", "--task-queue", task_queue, "--id", task_queue)

    assert document.code == 0
    assert document.err == f"Warning: no worker serves task queue {task_queue!r}. The run goes on when one does.\n"
    await client.get_workflow_handle(task_queue).terminate()


async def test_one_that_is_waited_for_without_a_worker_is_said_to_be_waited_for(
    desk: Desk, serve: Serve, task_queue: str
) -> None:
    notices: asyncio.Queue[str] = asyncio.Queue()
    words = ["start", "1", "--workflow", "chain", "--task-queue", task_queue, "--wait"]
    with mock.patch("temporal_adapter.cli.runs.start.tell", notices.put_nowait):
        starting = asyncio.create_task(desk.type(*words))
        notice = await asyncio.wait_for(notices.get(), 60)
        async with serve(chain):
            ended = await starting

    assert notice.endswith("The run goes on when one does; this command goes on waiting for it.")
    assert ended.code == 0


async def test_a_workflow_that_the_workers_do_not_have_is_told_with_those_that_they_have(
    desk: Desk, serve: Serve, client: Client, task_queue: str
) -> None:
    words = ["start", "1", "--workflow", "chian", "--task-queue", task_queue]
    async with serve(chain):
        started = await desk.type(*words, "--id", f"{task_queue}-1")
        waited = await desk.type(*words, "--id", f"{task_queue}-2", "--wait")
        for number in (1, 2):
            await client.get_workflow_handle(f"{task_queue}-{number}").terminate()

    assert (started.code, waited.code) == (0, 3)
    assert started.err.startswith("Warning: ")
    for shown in (started, waited):
        assert "have no workflow called 'chian' (they have 'chain')" in shown.err
        assert "temporal workflow terminate --workflow-id" in shown.err


async def test_an_open_run_of_the_same_id_is_left_alone(desk: Desk, serve: Serve, task_queue: str) -> None:
    words = ["start", "1", "--workflow", "ask-once", "--task-queue", task_queue, "--id", task_queue]
    async with serve(ask_once):
        first = await desk.json(*words)
        again = await desk.type(*words)

    assert first["workflow_id"] == task_queue
    assert again.code == 1
    assert "is open, and is left alone" in again.err


async def test_a_session_is_opened_with_its_first_input_or_none(desk: Desk, serve: Serve, task_queue: str) -> None:
    to = ["--workflow", "chain", "--task-queue", task_queue, "--session"]
    async with serve(chain) as durable:
        at_rest = await desk.json("start", "1", *to, "--id", f"{task_queue}-1", "--wait")
        await desk.json("start", *to, "--id", f"{task_queue}-2")
        results = [await durable.session(f"{task_queue}-{number}").run(5) for number in (1, 2)]
        for number in (1, 2):
            await durable.session(f"{task_queue}-{number}").close()

    assert at_rest["state"] == "IDLE"
    assert [result.get_outputs() for result in results] == [[("last", 16)], [("last", 16)]]


async def test_the_options_of_a_run_reach_it(desk: Desk, serve: Serve, task_queue: str) -> None:
    to = ["--workflow", designations().name, "--task-queue", task_queue, "--id", task_queue]
    kwargs = '{"region": "north"}'
    async with serve(designations) as durable:
        await desk.json("start", "1", *to, "--stream", "--on-failure", "wait", "--function-invocation-kwargs", kwargs)
        run = durable.get_run(task_queue)
        await run.result()
        started = await anext(run.handle.fetch_history_events())

    given = started.workflow_execution_started_event_attributes.input.payloads[1].data
    assert given == b'{"v":1,"function_invocation_kwargs":{"region":"north"},"on_failure":"wait","stream":true}'


async def test_what_is_typed_wrongly_is_told(desk: Desk, tmp_path: Path) -> None:
    to = ["--workflow", "chain", "--task-queue", "nowhere"]
    no_json = await desk.type("start", "Ada", *to)
    no_file = await desk.type("start", f"@{tmp_path / 'none.json'}", *to)
    nothing = await desk.type("start", *to)
    no_object = await desk.type("start", "1", *to, "--client-kwargs", "[1]")
    no_id = await desk.type("start", "1", *to, "--id", "")

    assert [one.code for one in (no_json, no_file, nothing, no_object, no_id)] == [2, 2, 2, 2, 2]
    assert "--id is empty" in no_id.err
    assert "'Ada' is not JSON" in no_json.err
    assert "--text" in no_json.err
    assert "none.json' cannot be read: No such file or directory." in no_file.err
    assert "a run wants a MESSAGE" in nothing.err
    assert "is no JSON object" in no_object.err


@pytest.mark.parametrize(("typed", "is_word"), [("Ada", True), ("{'a': 1}", False), ("[1, ", False), ('"Ada', False)])
async def test_only_who_types_a_word_is_told_how_to_give_a_text(desk: Desk, typed: str, is_word: bool) -> None:
    ended = await desk.type("start", typed, "--workflow", "chain", "--task-queue", "nowhere")

    assert ended.code == 2
    assert "is not JSON" in ended.err
    assert ("A text wants quotes" in ended.err) is is_word
