"""`replay`: the gate before a deployment, with histories from files and from the server."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import Worker

from temporal_adapter.replaying import Outcome, processes
from tests.support import altering, scripts
from tests.support.graphs import ask_once, fan_out_fan_in
from tests.support.running import pending, serving, until

from .conftest import Desk
from .test_all_commands import Flip

NAME = "fan out and in"


@pytest.fixture(scope="module")
async def fan(client: Client) -> WorkflowHistory:
    """The history of a run that went out and in."""
    async with serving(client, "gate", fan_out_fan_in) as durable:
        run = await durable.start(1, id="gate-fan")
        await run.result()
    return await run.handle.fetch_history()


def written(folder: Path, histories: Mapping[str, altering.Events]) -> Path:
    """A folder with these histories."""
    for name, events in histories.items():
        (folder / f"{name}.json").write_text(altering.history_of(events, name).to_json())
    return folder


@pytest.fixture
def good(fan: WorkflowHistory) -> altering.Events:
    return altering.events_of(fan)


@pytest.fixture
def astray(good: altering.Events) -> altering.Events:
    return altering.renamed(good, f"{NAME}/left", f"{NAME}/links")


# --- verdicts -------------------------------------------------------------------------------------------------


async def test_when_all_replay_the_gate_is_open(desk: Desk, good: altering.Events, tmp_path: Path) -> None:
    ended = await desk.type("replay", str(written(tmp_path, {"one": good, "two": good})))

    assert (ended.code, ended.err) == (0, "Of 2 histories 2 replay.\n")
    heading, *rows = ended.out.splitlines()
    assert heading.split() == ["RUN", "WORKFLOW", "EVENTS", "MS", "VERDICT", "FILE"]
    assert [row.split()[0] for row in rows] == ["gate-fan", "gate-fan"]
    assert [row.split()[-2:] for row in rows] == [
        ["replays", str(tmp_path / f"{name}.json")] for name in ("one", "two")
    ]


async def test_one_that_goes_astray_closes_it_and_is_explained(
    desk: Desk, good: altering.Events, astray: altering.Events, tmp_path: Path
) -> None:
    ended = await desk.type("replay", str(written(tmp_path, {"one": good, "two": astray})))

    assert ended.code == 1
    assert ended.err.splitlines() == [
        "Of 2 histories 1 replay, 1 diverge.",
        "Keep this release back: an open run that diverges or fails would stand still on it.",
    ]
    place = altering.place_of(astray, f"{NAME}/links") + 1
    assert ended.out.splitlines()[-2:] == [
        f"  superstep 2: the history has executor 'links' (event {place}); "
        "this release would do executor 'left' in its place",
        f"  Temporal: Activity type of scheduled event '{NAME}/links' does not match activity type of activity command "
        f"'{NAME}/left'",
    ]


async def test_a_damaged_file_closes_it_and_is_named(desk: Desk, good: altering.Events, tmp_path: Path) -> None:
    folder = written(tmp_path, {"one": good})
    (folder / "two.json").write_text((folder / "one.json").read_text()[:-100])
    (folder / "three.json").touch()

    ended = await desk.type("replay", str(folder))

    assert ended.code == 1
    assert f"{folder / 'two.json'}: it is not JSON, or not all of it" in ended.out
    assert f"{folder / 'three.json'}: the file is empty." in ended.out


async def test_it_answers_in_json_too(
    desk: Desk, good: altering.Events, astray: altering.Events, tmp_path: Path
) -> None:
    told = await desk.json("replay", str(written(tmp_path, {"one": good, "two": astray})), code=1)

    assert told["more"] is False
    first, second = told["histories"]
    assert (first["workflow_id"], first["verdict"], first["reason"]) == ("gate-fan", "replays", None)
    assert (first["file"], first["events"], first["workflow_name"]) == (str(tmp_path / "one.json"), len(good), NAME)
    assert second["verdict"] == "diverges"
    assert second["divergence"]["superstep"] == 2
    assert second["divergence"]["executor"] == "links"


async def test_it_writes_junit(desk: Desk, good: altering.Events, astray: altering.Events, tmp_path: Path) -> None:
    histories = written(tmp_path, {"one": good, "two": astray})

    ended = await desk.type("replay", str(histories), "--junit", str(tmp_path / "reports" / "replay.xml"))

    assert ended.code == 1
    [suite] = ElementTree.parse(tmp_path / "reports" / "replay.xml").getroot().iter("testsuite")
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["2", "1", "0", "0"]


async def test_the_manual_has_the_keys_of_the_json(
    desk: Desk, good: altering.Events, astray: altering.Events, tmp_path: Path
) -> None:
    replayed = await desk.json("replay", str(written(tmp_path, {"one": good, "two": astray})), code=1)
    page = (Path(__file__).parents[4] / "docs" / "cli.md").read_text()

    def documented(row: str) -> set[str]:
        line = next(line for line in page.splitlines() if line.startswith(f"| {row} |"))
        return set(re.findall(r"`(\w+)`", line.split("|")[2]))

    first, second = replayed["histories"]
    assert replayed.keys() == {"histories", "more"}
    assert first.keys() | set(get_args(Outcome)) == documented("a history of `replay`")
    assert second["divergence"].keys() == documented("a `divergence`")


# --- nothing to replay, or not so -----------------------------------------------------------------------------


async def test_with_nothing_to_replay_it_is_not_open(desk: Desk, tmp_path: Path, task_queue: str) -> None:
    no_paths = await desk.type("replay")
    no_files = await desk.type("replay", str(tmp_path))
    no_such = await desk.type("replay", str(tmp_path / "nowhere"))
    no_runs = await desk.type("replay", "--query", f"TaskQueue = '{task_queue}'")

    assert [one.code for one in (no_paths, no_files, no_such, no_runs)] == [2, 2, 2, 2]
    assert no_paths.err == "Error: give files or directories with histories, or --query.\n"
    assert "there is no history file" in no_files.err
    assert "nowhere: there is no such file or directory" in no_such.err
    assert no_runs.err == "Error: no run in namespace 'default' matches the query.\n"


async def test_a_query_that_is_none_is_a_wrong_command(desk: Desk) -> None:
    ended = await desk.type("replay", "--query", "WorkflowType is greeting")

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("Error: --query: the server does not take it: ")


async def test_a_server_that_does_not_answer_is_one_line(desk: Desk) -> None:
    ended = await Desk({**desk.env, "TEMPORAL_ADDRESS": "127.0.0.1:1"}).type("replay", "--query", "WorkflowId = 'x'")

    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("Error: no Temporal server answers at 127.0.0.1:1")


async def test_a_report_that_cannot_be_written_is_told(desk: Desk, good: altering.Events, tmp_path: Path) -> None:
    ended = await desk.type(
        "replay", str(written(tmp_path, {"one": good})), "--junit", str(tmp_path / "one.json" / "x")
    )

    assert ended.code == 2
    assert "Error: --junit: " in ended.err


# --- runs of a server -----------------------------------------------------------------------------------------


async def test_runs_of_a_query_are_replayed_where_they_stand(desk: Desk, client: Client, task_queue: str) -> None:
    query = f"TaskQueue = '{task_queue}' AND ExecutionStatus = 'Running'"
    async with serving(client, task_queue, ask_once) as durable:
        runs = [await durable.start(1, id=f"{task_queue}-{number}") for number in range(3)]
        for run in runs:
            await pending(run)
        await until(lambda: _lists(client, query, 3))

    whole = await desk.json("replay", "--query", query)  # and no worker is up
    some = await desk.type("replay", "--query", query, "--limit", "2")

    assert sorted(one["workflow_id"] for one in whole["histories"]) == [run.id for run in runs]
    assert {one["verdict"] for one in whole["histories"]} == {"replays"}
    assert some.code == 0
    assert some.err.splitlines() == [
        "There are more than 2 such runs, and only the newest were replayed: --limit takes more.",
        "Of 2 histories 2 replay.",
    ]


async def _lists(client: Client, query: str, runs: int) -> bool:
    return len([one async for one in client.list_workflows(query)]) >= runs


async def _waits(handle: WorkflowHandle[Any, Any]) -> bool:
    return "timer_started" in str((await handle.fetch_history()).events)


@workflow.defn(name="somebody-elses", sandboxed=False)
class SomebodyElses:
    """Not a workflow of the adapter: it waits for ever."""

    @workflow.run
    async def run(self) -> None:
        await workflow.sleep(10_000)


async def test_workflows_of_others_are_named_and_do_not_count(desk: Desk, client: Client, task_queue: str) -> None:
    query = f"TaskQueue = '{task_queue}'"
    async with Worker(client, task_queue=task_queue, workflows=[SomebodyElses]):
        handle = await client.start_workflow("somebody-elses", id=task_queue, task_queue=task_queue)
        await until(lambda: _waits(handle))
    await until(lambda: _lists(client, query, 1))

    ended = await desk.type("replay", "--query", query)

    assert ended.code == 2
    assert "workflow 'somebody-elses' is none of the adapter's" in ended.out
    assert "there is nothing to replay" in ended.err


async def test_encrypted_histories_are_replayed_with_the_codec(
    desk: Desk, client: Client, task_queue: str, tmp_path: Path
) -> None:
    converter = dataclasses.replace(DataConverter.default, payload_codec=Flip())
    async with serving(
        Client(**{**client.config(), "data_converter": converter}), task_queue, fan_out_fan_in
    ) as durable:
        run = await durable.start(1, id=task_queue)
        await run.result()
    events = altering.events_of(await run.handle.fetch_history())
    folder = written(tmp_path, {"one": events, "two": altering.renamed(events, f"{NAME}/left", f"{NAME}/links")})
    codec = ["--payload-codec", f"{Flip.__module__}:Flip"]

    with_codec = await desk.json("replay", str(folder), *codec, code=1)
    without = await desk.json("replay", str(folder), code=1)

    assert [one["verdict"] for one in with_codec["histories"]] == ["replays", "diverges"]
    assert with_codec["histories"][1]["divergence"]["superstep"] == 2
    assert [one["verdict"] for one in without["histories"]] == ["fails", "fails"]
    assert without["histories"][0]["reason"] == (
        "its payloads are encoded as 'flipped', which takes the payload codec of the run's client"
    )


# --- many -----------------------------------------------------------------------------------------------------


async def test_many_are_replayed_in_processes_of_their_own(
    desk: Desk, good: altering.Events, astray: altering.Events, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_WORTH_A_PROCESS", 2)
    folder = written(tmp_path, {f"run-{number}": astray if number == 3 else good for number in range(6)})

    told = await desk.json("replay", str(folder), "--jobs", "2", code=1)

    assert [one["file"] for one in told["histories"]] == [str(folder / f"run-{number}.json") for number in range(6)]
    assert [one["verdict"] for one in told["histories"]] == ["replays"] * 3 + ["diverges"] + ["replays"] * 2


WITHOUT_MAF = """
    import os, sys

    class Forbidden:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("agent_framework", "workers"):
                raise ImportError(f"{name} must not be imported here")

    sys.meta_path.insert(0, Forbidden())
    sys.argv = ["temporal-adapter", "replay", os.environ["HISTORIES"]]
    from temporal_adapter.cli import main
    main()
"""


def test_neither_maf_nor_the_graph_is_needed(good: altering.Events, tmp_path: Path) -> None:
    done = scripts.run(WITHOUT_MAF, HISTORIES=str(written(tmp_path, {"one": good})))

    assert done.returncode == 0, done.stderr
    assert "Of 1 histories 1 replay." in done.stderr
