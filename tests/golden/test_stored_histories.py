"""Every stored history replays: what releases recorded, open runs and closed ones, as workers and gates replay it."""

from __future__ import annotations

import base64
import importlib.metadata
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import SandboxImportNotificationPolicy

from temporal_adapter.replaying import HistoryFile, replay
from tests.golden import replays
from tests.golden.scenarios import SCENARIOS
from tests.golden.scrubbing import essential, foreign_in
from tests.golden.stage import slug

VERSION = importlib.metadata.version(replays.PACKAGE)

LARGEST = 3 * 1024 * 1024  # bytes of a version's histories

# pytest loads modules its own way, by a module of its own.
STRICT = SandboxRestrictions.default.with_passthrough_modules("_pytest").with_import_notification_policy(
    SandboxImportNotificationPolicy.WARN_ON_DYNAMIC_IMPORT
    | SandboxImportNotificationPolicy.RAISE_ON_UNINTENTIONAL_PASSTHROUGH
)


@pytest.mark.parametrize("version", replays.versions())
async def test_the_gate_lets_every_history_of_a_version_pass(version: str) -> None:
    replayed = await replay([HistoryFile(str(path)) for path in replays.paths(version)])

    assert {one.source: (one.outcome, one.reason) for one in replayed if one.outcome != "replays"} == {}


async def test_histories_replay_in_temporals_own_sandbox_that_lets_no_module_in_unasked() -> None:
    """Without the plugin, which lets the adapter's modules in: the workflow's module says itself what it needs."""
    histories = [replays.history_of(path) for path in replays.paths(VERSION)]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")

        failed = await replays.failures(histories, SandboxedWorkflowRunner(restrictions=STRICT))

    assert failed == {}
    assert [str(one.message) for one in warned if "imported after" in str(one.message)] == []


async def test_histories_replay_when_cut_after_a_workflow_task_as_a_worker_without_a_cache_has_them() -> None:
    await assert_cuts_replay(replays.paths(VERSION), lambda count: [count // 2] if count > 2 else [])


async def test_histories_replay_when_cut_after_every_workflow_task() -> None:
    await assert_cuts_replay(replays.paths(), lambda count: range(1, count))


async def assert_cuts_replay(paths: Sequence[Path], places: Callable[[int], Iterable[int]]) -> None:
    """Assert that histories replay up to the ends of some of their workflow tasks; `places` is given how many."""
    cut: list[WorkflowHistory] = []
    for path in paths:
        events = replays.events_of(path)
        ends = list(replays.ends_of_tasks(events))
        for place in places(len(ends)):
            cut.append(replays.altered(path, events[: ends[place - 1]], f"{replays.name_of(path)} up to task {place}"))

    assert await replays.failures(cut) == {}


async def test_a_replay_names_checkpoints_and_deliveries_as_the_run_did_whatever_temporal_compares() -> None:
    """The blob store has the ids, and executors may have given the keys to services: no release may change them."""
    assert await replays_that_name_otherwise(replays.paths()) == []


async def replays_that_name_otherwise(paths: Sequence[Path]) -> list[str]:
    """Replay histories; return those whose replay gives activities other ids or keys than the run did, and where."""
    watching = replays.Watching()
    await replays.failures(map(replays.history_of, paths), watching)
    found: list[str] = []
    for path in paths:
        replayed = dict(_replayed(watching, path))
        found += [
            f"{replays.name_of(path)}, activity {activity_id}: {named} is now {replayed.get(activity_id)}"
            for activity_id, named in _recorded(path)
            if replayed.get(activity_id) != named
        ]
    return found


def _recorded(path: Path) -> Iterator[tuple[str, Any]]:
    for event in replays.events_of(path):
        scheduled = event.get("activityTaskScheduledEventAttributes")
        if scheduled is not None:
            [payload] = scheduled["input"]["payloads"]
            yield scheduled["activityId"], json.loads(base64.b64decode(payload["data"]))


def _replayed(watching: replays.Watching, path: Path) -> Iterator[tuple[str, Any]]:
    for command in watching.commands[replays.name_of(path)]:
        if command.HasField("schedule_activity"):
            [payload] = command.schedule_activity.arguments
            named = essential(base64.b64encode(payload.data))
            known = dict(_recorded(path)).get(command.schedule_activity.activity_id, {})
            yield command.schedule_activity.activity_id, {name: named.get(name) for name in known}


# --- what is stored -----------------------------------------------------------------------------------------


def test_the_present_version_has_a_history_of_every_scenario() -> None:
    """A release without them would leave the next one nothing to hold itself against: `make record-histories`."""
    recorded = {path.name.split(".")[0] for path in replays.paths(VERSION)}

    assert {slug(one.name) for one in SCENARIOS if one.belongs_to(VERSION)} - recorded == set()


@pytest.mark.parametrize("version", replays.versions())
def test_the_histories_of_a_version_are_small(version: str) -> None:
    sizes = {path.name: path.stat().st_size for path in replays.paths(version)}

    assert 0 < sum(sizes.values()) < LARGEST, sorted(sizes.items(), key=lambda one: -one[1])[:5]


def test_no_stored_history_tells_of_the_machine_or_the_person_that_recorded_it() -> None:
    found = {
        replays.name_of(path): foreign
        for path in replays.paths()
        if (foreign := foreign_in({"events": replays.events_of(path)}))
    }

    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "/home/ada/project",
        "C:\\Users\\ada",
        "ada@example.org",
        "4711@host-1",
        'File "run.py", line 3',
        "127.0.0.1:7233",
    ],
)
def test_what_tells_of_a_machine_or_person_is_found_in_texts_and_in_payloads(text: str) -> None:
    payload = {"data": base64.b64encode(json.dumps(text).encode()).decode()}

    for told in ({"message": text}, {"payloads": [payload]}):
        assert foreign_in({"events": [{"eventId": "1", "attributes": told}]})
