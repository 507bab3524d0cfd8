"""Proof that the gate can fail: with code that gives other commands, stored histories do not replay any more.

Each `workflow.patched` guard of the adapter is found in its source. A guard that no stored history needs fails here: it
takes a history of before it was there, and one that has it.
"""

from __future__ import annotations

import ast
import base64
import importlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow

import temporal_adapter
from temporal_adapter.attendance import Attendance
from temporal_adapter.doors.people import People
from temporal_adapter.engine.commits import Commits
from temporal_adapter.engine.superstep import Superstep
from temporal_adapter.execution import Execution
from tests.golden import replays
from tests.golden.test_stored_histories import replays_that_name_otherwise

SOURCE = Path(temporal_adapter.__file__).parent
VERSION = importlib.metadata.version(replays.PACKAGE)


async def failing(*scenarios: str) -> set[str]:
    """Return which histories of these scenarios, of the present version, do not replay."""
    return await failing_of([path for path in replays.paths(VERSION) if path.name.split(".")[0] in scenarios])


async def failing_of(paths: Sequence[Path]) -> set[str]:
    """Return which histories do not replay."""
    return set(await replays.failures(map(replays.history_of, paths)))


# --- guards -------------------------------------------------------------------------------------------------


def guards() -> list[str]:
    """Return the ids of all `workflow.patched` guards in the adapter's source."""
    found: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "patch" in source else ():
            if isinstance(node, ast.Call) and _is_patched(node.func):
                [argument] = node.args
                assert isinstance(argument, ast.Constant), f"{path}:{node.lineno}: a guard's id must be a literal"
                found.append(argument.value)
    return found


def _is_patched(function: ast.expr) -> bool:
    return ast.unparse(function) in ("workflow.patched", "workflow.deprecate_patch", "temporalio.workflow.patched")


def test_each_guard_has_an_id_of_its_own() -> None:
    assert sorted(set(guards())) == sorted(guards())
    assert guards()


def decided(guard: str, holds: bool) -> Callable[[str], bool]:
    """Return `workflow.patched` as if a guard were not there: its new code runs always, or its old code does."""
    original = workflow.patched

    def patched(id: str) -> bool:
        found = original(id)
        return holds if id == guard else found

    return patched


@pytest.mark.parametrize("guard", guards())
async def test_without_a_guard_before_its_new_code_an_older_history_does_not_replay(
    guard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = [path for path in replays.paths() if guard not in markers(path)]
    older = [path for path in without if path.parent.name != VERSION]
    monkeypatch.setattr(workflow, "patched", decided(guard, True))

    assert await failing_of(older) or await failing_of(without)


@pytest.mark.parametrize("guard", guards())
async def test_without_the_new_code_behind_a_guard_a_history_that_has_it_does_not_replay(
    guard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    having = [path for path in replays.paths() if guard in markers(path)]
    monkeypatch.setattr(workflow, "patched", decided(guard, False))

    assert await failing_of(having)


def markers(path: Path) -> set[str]:
    """Return the guards that a stored history has markers of."""
    marked = [event.get("markerRecordedEventAttributes", {}) for event in replays.events_of(path)]
    details = [one["details"] for one in marked if one.get("markerName") == "core_patch"]
    payloads = [payload for one in details for part in one.values() for payload in part["payloads"]]
    return {json.loads(base64.b64decode(payload["data"]))["id"] for payload in payloads}


# --- order --------------------------------------------------------------------------------------------------


async def test_deliveries_in_another_order_do_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Superstep.first
    monkeypatch.setattr(Superstep, "first", lambda superstep: first(superstep)[::-1])

    assert await failing("fan-out-and-fan-in") == {f"{VERSION}/fan-out-and-fan-in"}


async def test_messages_in_another_order_do_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = importlib.import_module("temporal_adapter.engine.superstep")
    by_source = module.by_source
    monkeypatch.setattr(module, "by_source", lambda messages: dict(reversed(by_source(messages).items())))

    assert await failing("two-branches") == {f"{VERSION}/two-branches"}


HARMLESS = {"temporal_adapter.engine.deadlines": "what is carried over goes into a heap again, in any order"}
"""Modules of the engine that sort what no replay depends on."""


def sorting_modules() -> set[str]:
    """Return the modules of the engine that sort."""
    return {
        path.relative_to(SOURCE.parent).with_suffix("").as_posix().replace("/", ".")
        for path in (SOURCE / "engine").glob("*.py")
        if any(isinstance(node, ast.Name) and node.id == "sorted" for node in ast.walk(ast.parse(path.read_text())))
    }


def test_what_is_harmless_to_sort_otherwise_sorts() -> None:
    assert HARMLESS.keys() <= sorting_modules()


@pytest.mark.parametrize("name", sorted(sorting_modules() - HARMLESS.keys()))
async def test_what_the_engine_sorts_it_sorts_for_the_replays_sake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any other order, as that of a set would be, some history does not replay."""
    module = importlib.import_module(name)
    monkeypatch.setattr(module, "sorted", lambda *given, **by: sorted(*given, **by)[::-1], raising=False)

    assert await failing("fan-out-and-fan-in", "two-branches") or await failing_of(replays.paths())


# --- commands -----------------------------------------------------------------------------------------------


async def test_a_commit_that_is_not_made_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Commits, "next", lambda commits, signature: None)

    assert await failing("store-trouble", "failure", "wide") >= {
        f"{VERSION}/{one}" for one in ("store-trouble", "failure", "wide")
    }


async def test_a_timer_before_a_delivery_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    deliver = Execution._deliver

    async def later(execution: Execution, decision: Any) -> None:
        await workflow.sleep(timedelta(milliseconds=1))
        await deliver(execution, decision)

    monkeypatch.setattr(Execution, "_deliver", later)

    assert await failing("chain") == {f"{VERSION}/chain"}


async def test_a_turn_that_is_not_waited_for_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(_: Execution, work: Callable[[], Any]) -> Any:
        return work()

    monkeypatch.setattr(Execution, "_in_turn", at_once)

    failed = await failing("session", "requests-cancelled", "response-by-signal", "failure-that-waits-for-an-operator")
    assert failed >= {f"{VERSION}/session", f"{VERSION}/response-by-signal"}
    assert f"{VERSION}/failure-that-waits-for-an-operator" in failed


async def test_an_operators_retry_without_its_timer_does_not_replay_in_runs_of_earlier_releases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def at_once(duration: Any, **_: Any) -> None:
        return

    monkeypatch.setattr(f"{People.__module__}.workflow.sleep", at_once)

    [path] = [one for one in replays.paths("0.1.0") if one.stem == "failure-that-waits-for-an-operator"]
    assert await failing_of([path])


async def test_a_deadline_that_is_not_kept_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attendance, "_set_alarm", lambda attendance: None)

    assert await failing("deadline-fails") == {f"{VERSION}/deadline-fails"}


async def test_a_search_attribute_that_is_not_kept_does_not_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Attendance, "_count", lambda attendance: None)

    assert await failing("search-attribute") == {f"{VERSION}/search-attribute"}


async def test_other_ids_of_checkpoints_are_found_where_temporal_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    uuid4 = workflow.uuid4
    monkeypatch.setattr(workflow, "uuid4", lambda: (uuid4(), uuid4())[1])

    assert await failing("chain") == set()
    assert await replays_that_name_otherwise([one for one in replays.paths(VERSION) if one.stem == "chain"])
