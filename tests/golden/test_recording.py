"""`make record-histories`: scenarios can be played, without a workflow cache too, and their fresh histories replay."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHistory

from temporal_adapter.continuation import Continuation
from temporal_adapter.replaying import replay
from tests.golden import __main__ as program
from tests.golden import replays
from tests.golden.recording import record, recording_client
from tests.golden.scenarios import SCENARIOS
from tests.golden.scrubbing import foreign_in, scrubbed, to_text
from tests.support.altering import history_of

FEW = ("response by signal", "requests cancelled", "side by side", "goes on at rest", "run kwargs")
"""Scenarios that are played in `make test`; all are in `make chaos`."""


@pytest.fixture(scope="module")
async def recorder() -> AsyncIterator[Client]:
    """A client of a server of its own: task queues and ids of scenarios are the same each time."""
    async with recording_client() as client:
        yield client


async def test_scenarios_played_without_a_workflow_cache_replay(recorder: Client) -> None:
    await assert_play(recorder, FEW)


async def test_all_scenarios_played_without_a_workflow_cache_replay(recorder: Client) -> None:
    await assert_play(recorder, [one.name for one in SCENARIOS if one.name not in FEW])


async def assert_play(client: Client, names: Sequence[str]) -> None:
    chosen = [one for one in SCENARIOS if one.name in names]

    recorded = await record(client, chosen, max_cached_workflows=0)

    assert len(recorded) >= len(chosen)
    replayed = await replay([history_of(history["events"], name) for name, history in recorded.items()])
    assert {one.workflow_id: one.reason for one in replayed if one.outcome != "replays"} == {}
    assert {name: foreign_in(history) for name, history in recorded.items() if foreign_in(history)} == {}


# --- runs that go on as new ones ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def links(recorder: Client) -> dict[str, WorkflowHistory]:
    """The histories of all links of a loop, recorded now: not every release that has histories went on so."""
    recorded = await record(recorder, [one for one in SCENARIOS if one.name == "goes on in a loop"])
    return {name: history_of(history["events"], name) for name, history in recorded.items()}


@pytest.mark.parametrize("method", ["_may_leave", "_carry_on"])
async def test_a_run_that_does_not_go_on_or_does_not_take_over_does_not_replay(
    links: dict[str, WorkflowHistory], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {"_may_leave": lambda run: False, "_carry_on": taken_over_unseen}
    monkeypatch.setattr(Continuation, method, changed[method])

    failed = await replays.failures(links.values())

    assert len(links) > 2
    begins_or_ends = list(links)[:-1] if method == "_may_leave" else list(links)[1:]
    assert set(failed) == set(begins_or_ends)


async def taken_over_unseen(run: Any, carried: Any) -> None:
    """As `Continuation._carry_on`, without its activity."""


# --- where they go ------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the program stores histories; scenarios are not played, but give the same history each."""
    history = {"events": replays.events_of(replays.paths()[0])}

    async def played(chosen: Sequence[Any]) -> dict[str, dict[str, Any]]:
        return {one.name: history for one in chosen}

    monkeypatch.setattr(program, "HISTORIES", tmp_path)
    monkeypatch.setattr(program, "_recorded", played)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["record", *arguments])
    return program.main()


VERSION = importlib.metadata.version(replays.PACKAGE)


def test_histories_go_into_a_folder_of_the_installed_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--only", "chain") == 0

    assert [one.relative_to(folder).as_posix() for one in folder.rglob("*.json")] == [f"{VERSION}/chain.json"]


def test_histories_that_are_there_stay_unless_they_are_to_be_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = folder / VERSION / "of-old.json"
    stored.parent.mkdir()
    stored.touch()

    assert run(monkeypatch, "--only", "chain") == 2
    assert "--replace" in capsys.readouterr().err
    assert [one.name for one in stored.parent.iterdir()] == ["of-old.json"]

    assert run(monkeypatch, "--replace") == 0
    assert not stored.exists()


@pytest.mark.parametrize("more", [[], ["--replace"], ["--replace", "--earlier"]])
def test_histories_of_another_version_are_never_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    (folder / "0.0.1").mkdir()

    assert run(monkeypatch, "--version", "0.0.1", *more) == 2

    assert [*(folder / "0.0.1").iterdir()] == []


def test_an_unknown_scenario_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--only", "chains") == 2
    assert [*folder.iterdir()] == []


def test_scrubbing_what_is_scrubbed_changes_nothing() -> None:
    for path in replays.paths(VERSION):
        history = {"events": replays.events_of(path)}
        assert to_text(scrubbed(history)) == path.read_text()
        assert json.loads(path.read_text()) == history
