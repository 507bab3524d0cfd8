"""Every difference from in-process that `docs/differences.md` lists, and none that it does not."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    AgentExecutor,
    AgentExecutorResponse,
    AgentSession,
    ContextProvider,
    Executor,
    InMemoryCheckpointStorage,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    WorkflowExecutor,
    WorkflowRunState,
    executor,
    handler,
    response_handler,
)
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

from temporal_adapter import (
    AgentFrameworkPlugin,
    BlobCheckpointStorage,
    BlobStore,
    CancelRefused,
    ConfigurationError,
    DurableRun,
    InputRefused,
    ResponseRefused,
    SessionRefused,
    idempotency_key,
)
from temporal_adapter.values import EncodeError
from tests.support import releasing
from tests.support.chat import agent
from tests.support.graphs import Add, Report, ask_once
from tests.support.running import failure_of, pending, serving, until
from tests.support.scripted import Script, asking, asking_beside_work, failing, flaky_between

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
LISTED = re.findall(r"\| `(\w+)` \|$", PAGE.read_text(), re.MULTILINE)

TWICE = ActivityConfig(
    start_to_close_timeout=timedelta(seconds=20),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=2),
)


def test_the_page_lists_these_tests_and_no_others() -> None:
    here = [name.removeprefix("test_") for name in globals() if name.startswith("test_")]
    assert sorted(LISTED) == sorted(set(here) - {"the_page_lists_these_tests_and_no_others"})


def fan_out(name: str, first: Executor, second: Executor, start: Executor | None = None) -> Workflow:
    start = start or Add("start")
    return WorkflowBuilder(name=name, start_executor=start).add_fan_out_edges(start, [first, second]).build()


# --- what executors can notice ------------------------------------------------------------------------------


async def test_siblings_do_not_see_each_others_writes(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="writes")
        async def writes(value: int, ctx: WorkflowContext[int, str]) -> None:
            ctx.set_state("key", "written")

        @executor(id="reads")
        async def reads(value: int, ctx: WorkflowContext[int, str]) -> None:
            await asyncio.sleep(0)  # in-process, the sibling has its turn here
            await ctx.yield_output(ctx.get_state("key", "nothing"))
            ctx.set_state("key", ctx.get_state("key", "") + "!")

        return fan_out("glimpsing", writes, reads)

    in_process = await build().run(1)
    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        on_temporal = await run.result()
        warnings = [event.data async for event in run.events() if event.type == "warning"]

    assert in_process.get_outputs() == ["written"]
    assert on_temporal.get_outputs() == ["nothing"]
    assert warnings == [
        "Executors 'writes' and 'reads' both changed the state 'key' in one superstep, neither seeing the other's "
        "change: that of 'reads' counts."
    ]


async def test_messages_of_several_sources_come_in_order_of_first_send(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="gets")
        async def gets(value: int, ctx: WorkflowContext[int, int]) -> None:
            await ctx.yield_output(value)

        start, first, second = Add("start"), Add("first", 10), Add("second", 20)
        builder = WorkflowBuilder(name="crossing", start_executor=start, output_from=[gets])
        builder.add_fan_out_edges(start, [first, second]).add_fan_out_edges(first, [gets, Report("beside")])
        return builder.add_edge(second, gets).build()

    in_process = await build().run(1)
    async with serving(client, task_queue, build) as durable:
        on_temporal = await (await durable.start(1)).result()

    assert in_process.get_outputs() == [22, 12]
    assert on_temporal.get_outputs() == [12, 22]


async def test_receivers_have_copies(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="sends")
        async def sends(value: int, ctx: WorkflowContext[list[int]]) -> None:
            await ctx.send_message([value])

        @executor(id="changes")
        async def changes(value: list[int], ctx: WorkflowContext[int]) -> None:
            value.append(2)

        @executor(id="looks")
        async def looks(value: list[int], ctx: WorkflowContext[int, Any]) -> None:
            await ctx.yield_output(list(value))

        return fan_out("sharing", changes, looks, sends)

    in_process = await build().run(1)
    async with serving(client, task_queue, build) as durable:
        on_temporal = await (await durable.start(1)).result()

    assert in_process.get_outputs() == [[1, 2]]
    assert on_temporal.get_outputs() == [[1]]


async def test_attributes_travel_and_globals_do_not(client: Client, task_queue: str) -> None:
    built: list[list[int]] = []  # one list for each graph that was built, as a module of each process would have

    def build() -> Workflow:
        built.append([])
        elsewhere = built[-1]

        class Counts(Executor):
            def __init__(self, id: str) -> None:
                super().__init__(id=id)
                self.count = 0

            @handler
            async def counts(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
                self.count += 1
                elsewhere.append(value)
                await (ctx.send_message(value + 1) if value < 3 else ctx.yield_output((self.count, len(elsewhere))))

        one = Counts("one")
        return WorkflowBuilder(name="counting", start_executor=one).add_edge(one, one).build()

    in_process = await build().run(1)
    graphs = len(built)
    async with serving(client, task_queue, build) as durable:
        on_temporal = await (await durable.start(1)).result()

    assert in_process.get_outputs() == [(3, 3)]
    [(count, _)] = on_temporal.get_outputs()
    assert count == 3
    assert len(built) > graphs + 2  # the plugin looks at two, and the run had others


async def test_what_executors_share_is_each_ones_own(client: Client, task_queue: str) -> None:
    class Appends(Executor):
        def __init__(self, id: str, shared: list[str]) -> None:
            super().__init__(id=id)
            self.shared = shared

        @handler
        async def append(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
            self.shared.append(self.id)
            await ctx.send_message(value)
            await ctx.yield_output(list(self.shared))

    def build() -> Workflow:
        shared: list[str] = []
        one, two = Appends("one", shared), Appends("two", shared)
        return WorkflowBuilder(name="sharing-a-list", start_executor=one).add_edge(one, two).build()

    in_process = await build().run(1)
    async with serving(client, task_queue, build) as durable:
        on_temporal = await (await durable.start(1)).result()

    assert in_process.get_outputs() == [["one"], ["one", "two"]]
    assert on_temporal.get_outputs() == [["one"], ["two"]]


async def test_a_session_that_agents_share_is_refused() -> None:
    def build() -> Workflow:
        session = AgentSession()
        one, two = (AgentExecutor(agent(name), id=name, session=session) for name in ("one", "two"))
        return WorkflowBuilder(name="sharing-a-session", start_executor=one).add_edge(one, two).build()

    with pytest.raises(ConfigurationError, match=r"'one' and 'two' .* share one AgentSession.*pass the conversation"):
        AgentFrameworkPlugin([build], checkpoint_store="memory://")


async def test_what_a_provider_keeps_outside_of_the_session_is_put_back(client: Client, task_queue: str) -> None:
    class Counts(ContextProvider):
        def __init__(self) -> None:
            super().__init__("counts")
            self.turns = 0

        async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
            self.turns += 1
            state["turns"] = state.get("turns", 0) + 1
            told = f"turn {self.turns}, by the session {state['turns']}"
            context.extend_messages(self.source_id, [Message("system", [told])])

    def build() -> Workflow:
        def script(messages: Any) -> str:
            return [one.text for one in messages if one.role == "system"][-1]

        @executor(id="again")
        async def again(answer: AgentExecutorResponse, ctx: WorkflowContext[str]) -> None:
            await ctx.send_message("And now?")

        talks = AgentExecutor(agent("talks", script, context_providers=[Counts()]), id="talks")
        builder = WorkflowBuilder(name="counting-turns", start_executor=talks, output_from=[talks])
        return builder.add_edge(talks, again).add_edge(again, talks, condition=first_time()).build()

    in_process = await build().run("Hello?")
    async with serving(client, task_queue, build) as durable:
        on_temporal = await (await durable.start("Hello?")).result()

    told = [[output.text for output in result.get_outputs()] for result in (in_process, on_temporal)]
    assert told == [
        ["turn 1, by the session 1", "turn 2, by the session 2"],
        ["turn 1, by the session 1", "turn 1, by the session 2"],
    ]


def first_time() -> Any:
    """Return a condition that holds once."""
    asked: list[Any] = []

    def holds(_: Any) -> bool:
        asked.append(1)
        return len(asked) == 1

    return holds


async def test_attributes_travel_where_a_save_hook_raises(client: Client, task_queue: str) -> None:
    class CannotSave(Executor):
        def __init__(self, id: str) -> None:
            super().__init__(id=id)
            self.lock = threading.Lock()  # cannot be stored, and need not be
            self.seen: list[int] = []

        @handler
        async def handle(self, value: int, ctx: WorkflowContext[int, list[int]]) -> None:
            self.seen.append(value)
            await (ctx.send_message(value + 1) if value < 3 else ctx.yield_output(list(self.seen)))

        async def on_checkpoint_save(self) -> dict[str, Any]:
            raise OSError("nowhere to save")

    def build() -> Workflow:
        one = CannotSave("one")
        return WorkflowBuilder(name="cannot-save", start_executor=one).add_edge(one, one).build()

    storage = InMemoryCheckpointStorage()
    assert (await build().run(1, checkpoint_storage=storage)).get_outputs() == [[1, 2, 3]]
    assert await storage.list_checkpoint_ids(workflow_name="cannot-save") == []
    async with serving(client, task_queue, build, default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        result = await run.result()

    assert result.get_outputs() == [[1, 2, 3]]
    assert "nowhere to save" in str(next(event.data for event in result if event.type == "warning"))


async def test_what_a_background_task_sends_late_is_lost(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        late: list[asyncio.Task[None]] = []

        @executor(id="starts")
        async def starts(value: int, ctx: WorkflowContext[int]) -> None:
            async def send() -> None:
                await asyncio.sleep(0)
                await ctx.send_message(value)

            late.append(asyncio.create_task(send()))

        @executor(id="beside")
        async def beside(value: int, ctx: WorkflowContext[int]) -> None:
            await asyncio.sleep(0.01)

        last = Report("last")
        start = Add("start")
        builder = WorkflowBuilder(name="sending-late", start_executor=start).add_fan_out_edges(start, [starts, beside])
        return builder.add_edge(starts, last).build()

    in_process = await build().run(1)
    async with serving(client, task_queue, build) as durable:
        on_temporal = await (await durable.start(1)).result()

    assert in_process.get_outputs() == [("last", 2)]
    assert on_temporal.get_outputs() == []


async def test_what_cannot_be_stored_is_an_error(client: Client, task_queue: str) -> None:
    build = failing(lambda: None, sends=lambda: 1)
    assert (await build().run(1)).get_outputs() == []
    async with serving(client, task_queue, build) as durable:
        failure = await failure_of(await durable.start(1))

    assert failure.type == "EncodeError"
    assert "'fails'" in failure.message
    assert "function" in failure.message


async def test_an_attempt_that_failed_runs_again_under_the_same_key(client: Client, task_queue: str) -> None:
    keys: list[str | None] = []

    def build() -> Workflow:
        @executor(id="pays")
        async def pays(value: int, ctx: WorkflowContext[int, str]) -> None:
            keys.append(idempotency_key())
            await ctx.yield_output(f"attempt {len(keys)}")
            if len(keys) == 1:
                raise ConnectionError("paid, and the answer is lost")

        return WorkflowBuilder(name="paying", start_executor=pays).build()

    async with serving(client, task_queue, build, default_activity_options=TWICE) as durable:
        result = await (await durable.start(1)).result()

    assert result.get_outputs() == ["attempt 2"]
    assert keys[0] == keys[1] is not None


async def test_an_error_fails_the_run_after_its_attempts(client: Client, task_queue: str) -> None:
    script = Script()
    build = flaky_between(script, 9, lambda: ValueError("no"))
    async with serving(client, task_queue, build, default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        with pytest.raises(ValueError, match="no"):
            await run.result()

    assert script.calls["flaky"] == 2


async def test_a_wrapping_executor_runs_again_after_its_sub_workflow(client: Client, task_queue: str) -> None:
    calls: list[int] = []

    class Wraps(WorkflowExecutor):
        @handler
        async def process_workflow(self, input_data: object, ctx: WorkflowContext[Any, Any]) -> None:
            calls.append(1)
            await super().process_workflow(input_data, ctx)

    def build() -> Workflow:
        inner = WorkflowBuilder(name="inner", start_executor=Report("report")).build()
        wraps = Wraps(inner, id="wraps", allow_direct_output=True)
        start = Add("start")
        return WorkflowBuilder(name="wrapping", start_executor=start).add_edge(start, wraps).build()

    await build().run(1)
    in_process = len(calls)
    async with serving(client, task_queue, build) as durable:
        result = await (await durable.start(1)).result()

    assert result.get_outputs() == [("report", 2)]
    assert (in_process, len(calls) - in_process) == (1, 2)


# --- what callers can notice --------------------------------------------------------------------------------


async def test_run_scoped_tools_are_refused(client: Client, task_queue: str) -> None:
    def tool() -> str:
        return "used"

    async with serving(client, task_queue, asking(Script())) as durable:
        with pytest.raises(ValueError, match=r"tools.*factory.*function_invocation_kwargs"):
            await durable.start(1, tools=[tool])


async def test_each_run_begins_with_what_was_built(client: Client, task_queue: str) -> None:
    class Counts(Executor):
        def __init__(self, id: str) -> None:
            super().__init__(id=id)
            self.count = 0

        @handler
        async def counts(self, value: int, ctx: WorkflowContext[int, Any]) -> None:
            self.count += 1
            ctx.set_state("count", ctx.get_state("count", 0) + 1)
            await ctx.yield_output((self.count, ctx.get_state("count")))

    def build() -> Workflow:
        return WorkflowBuilder(name="counting-runs", start_executor=Counts(id="one")).build()

    workflow = build()
    in_process = [(await workflow.run(1)).get_outputs() for _ in range(2)]
    async with serving(client, task_queue, build) as durable:
        on_temporal = [(await (await durable.start(1)).result()).get_outputs() for _ in range(2)]
        session = durable.session(f"{task_queue}-session")
        in_session = [(await session.run(1)).get_outputs() for _ in range(2)]

    assert in_process == [[(1, 1)], [(2, 2)]]
    assert on_temporal == [[(1, 1)], [(1, 1)]]
    assert in_session == in_process


class Tally(Executor):
    """Counts in an attribute; fails at a negative number when it has counted it; asks at 100."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.count = 0

    @handler
    async def add(self, value: int, ctx: WorkflowContext[Any, Any]) -> None:
        self.count += 1
        if value < 0:
            raise ValueError("less than nothing")
        await (ctx.request_info("more?", bool) if value == 100 else ctx.yield_output(self.count))

    @response_handler
    async def more(self, question: str, yes: bool, ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.yield_output((self.count, yes))


def tally() -> Workflow:
    return WorkflowBuilder(name="tally", start_executor=Tally("one")).build()


async def test_a_failed_turn_of_a_session_leaves_nothing(client: Client, task_queue: str) -> None:
    workflow = tally()
    await workflow.run(1)
    with pytest.raises(ValueError, match="less than nothing"):
        await workflow.run(-1)
    in_process = (await workflow.run(1)).get_outputs()
    async with serving(client, task_queue, tally, default_activity_options=TWICE) as durable:
        session = durable.session(f"{task_queue}-session")
        await session.run(1)
        with pytest.raises(ValueError, match="less than nothing"):
            await session.run(-1)
        on_temporal = (await session.run(1)).get_outputs()

    assert (in_process, on_temporal) == ([3], [2])


async def test_a_session_taken_back_has_the_attributes_of_the_checkpoint(client: Client, task_queue: str) -> None:
    workflow, storage = tally(), InMemoryCheckpointStorage()
    await workflow.run(100, checkpoint_storage=storage)
    pause = await storage.get_latest(workflow_name="tally")
    await workflow.run(1)
    assert pause is not None
    again = await workflow.run(checkpoint_id=pause.checkpoint_id, checkpoint_storage=storage)
    [request] = again.get_request_info_events()
    in_process = (await workflow.run(responses={request.request_id: True})).get_outputs()
    async with serving(client, task_queue, tally) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(100)).get_request_info_events()
        head = (await session.durable_run.status()).checkpoint_id
        await session.run(1)
        await session.run(checkpoint_id=head)
        on_temporal = (await session.run(responses={request.request_id: True})).get_outputs()

    assert (in_process, on_temporal) == ([(2, True)], [(1, True)])


async def test_a_session_that_refuses_responses_is_as_it_was(client: Client, task_queue: str) -> None:
    workflow, storage = tally(), InMemoryCheckpointStorage()
    [request] = (await workflow.run(100, checkpoint_storage=storage)).get_request_info_events()
    assert (await workflow.run(responses={})).get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
    answered = await workflow.run(responses={request.request_id: True}, client_kwargs={"a": 1})
    assert answered.get_outputs() == [(1, True)]
    pause = (await storage.list_checkpoint_ids(workflow_name="tally"))[-1]
    await workflow.run(checkpoint_id=pause, checkpoint_storage=storage, client_kwargs={"lost": 1})
    with pytest.raises(ValueError, match="type mismatch"):
        await workflow.run(checkpoint_id=pause, responses={request.request_id: "?"}, checkpoint_storage=storage)
    assert (await workflow.run(1)).get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS  # it was restored

    async with serving(client, task_queue, tally) as durable:
        session = durable.session(f"{task_queue}-session")
        [request] = (await session.run(100)).get_request_info_events()
        head = (await session.durable_run.status()).checkpoint_id
        yes: dict[str, Any] = {request.request_id: True}
        with pytest.raises(SessionRefused, match="no responses"):
            await session.run(responses={})
        with pytest.raises(SessionRefused, match="come with a message or responses"):
            await session.run(checkpoint_id=head, client_kwargs={"a": 1})
        assert (await session.run(responses=yes, client_kwargs={"a": 1})).get_outputs() == [(1, True)]
        with pytest.raises(InputRefused, match="must be bool"):
            await session.run(checkpoint_id=head, responses={request.request_id: "?"})
        assert (await session.run(1)).get_final_state() is WorkflowRunState.IDLE


async def test_a_checkpoint_with_nothing_in_flight_runs_no_superstep(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, ask_once, store=store) as durable:
        run = await durable.start(1)
        await pending(run)
        head = (await run.checkpoints())[-1].checkpoint_id
        replay = await durable.replay(head)
        await pending(replay)
        on_temporal = [event.type for event in await replay.events_between(0, (await replay.status()).events)]
        storage = BlobCheckpointStorage(store, workflow=ask_once(), read_only=True)
        in_process = [event.type for event in await ask_once().run(checkpoint_id=head, checkpoint_storage=storage)]

        assert [one.checkpoint_id for one in await replay.checkpoints()] == [head]

    assert in_process == ["request_info", "superstep_started", "superstep_completed"]
    assert [one for one in on_temporal if one not in ("started", "status")] == ["request_info"]


async def test_an_input_that_no_handler_takes_fails_the_run(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="takes")
        async def takes(value: float, ctx: WorkflowContext[int, Any]) -> None:
            await ctx.yield_output(value)

        return WorkflowBuilder(name="taking-floats", start_executor=takes).build()

    for wrong in ("text", 3):
        with pytest.raises(RuntimeError, match="cannot handle input"):
            await build().run(wrong)
    async with serving(client, task_queue, build) as durable:
        failure = await failure_of(await durable.start("text"))
        coerced = await (await durable.start(3)).result()

    assert failure.type == "InputNotHandled"
    assert "float" in failure.message
    assert coerced.get_outputs() == [3.0]


async def test_run_kwargs_must_be_storable(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        with pytest.raises(EncodeError, match="function_invocation_kwargs"):
            await durable.start(1, function_invocation_kwargs={"callback": lambda: 1})


async def test_a_response_during_a_superstep_is_delivered_at_its_end(client: Client, task_queue: str) -> None:
    script = Script()
    script.hold("work")
    async with serving(client, task_queue, asking_beside_work(script)) as durable:
        run = await durable.start(1)
        await script.entered("work")
        while not (requests := await run.pending_requests()):  # noqa: ASYNC110 - the server can only be looked at
            await asyncio.sleep(0.02)
        accepted = await run.respond(requests[0].request_id, True)
        script.release("work")
        await run.result()
        events = [event async for event in run.events()]
        kinds = [one.kind for one in await run.checkpoints()]

    assert accepted.checkpoint_id is not None
    assert kinds[:4] == ["entry", "superstep", "superstep", "response"]
    assert [event.type for event in events].count("started") == 1


async def test_a_wrong_response_is_refused(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(1)
        [request] = await pending(run)
        with pytest.raises(ResponseRefused, match="bool"):
            await run.respond(request.request_id, "perhaps")
        assert [one.request_id for one in await run.pending_requests()] == [request.request_id]
        events = [event async for event in _until(run, (await run.status()).events)]
        await run.handle.terminate("seen enough")

    assert "was refused" in events[-1].data


async def test_a_cancellation_is_taken_whole_or_refused(client: Client, task_queue: str) -> None:
    workflow = releasing.two()
    await workflow.run(1)
    in_process = await workflow.cancel_pending_requests(["left-0", "nobody-0"])
    async with serving(client, task_queue, releasing.two) as durable:
        run = await durable.start(1)
        await pending(run, 4)
        with pytest.raises(CancelRefused, match="'nobody-0' is unknown"):
            await run.cancel_pending_requests(["left-0", "nobody-0"])
        assert len(await run.pending_requests()) == 4

        await run.cancel_pending_requests(["left-1", "right-0", "left-0"])
        await pending(run)
        events = [event async for event in _until(run, (await run.status()).events)]
        kinds = [one.kind for one in await run.checkpoints()]
        await run.handle.terminate("seen enough")

    assert ("last", "left-0 was cancelled") in in_process.get_outputs()
    released = [event.data for event in events if event.type == "output" and "released" in str(event.data)]
    assert sorted(released) == [
        "left released ['left-0', 'left-1']",
        "left released ['left-0']",
        "right released ['right-0']",
    ]
    assert kinds == ["entry", "superstep", "superstep", "superstep", "response", "superstep"]


async def test_a_request_whose_executor_cannot_be_told_waits_again(client: Client, task_queue: str) -> None:
    workflow = releasing.fails_to_release()
    await workflow.run(1)
    with pytest.raises(ValueError, match="cannot release"):
        await workflow.cancel_pending_requests(["ask-0"])
    in_process = await workflow._runner_context.get_pending_request_info_events()

    async with serving(client, task_queue, releasing.fails_to_release, default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        await pending(run)
        await run.cancel_pending_requests(["ask-0"])
        assert (await failure_of(run)).message == "cannot release ask-0"
        resumed = await durable.resume(run.id)
        assert [one.request_id for one in await pending(resumed)] == ["ask-0"]
        await resumed.handle.terminate("seen enough")

    assert in_process == {}


async def test_a_run_streams_on_after_a_cancellation(client: Client, task_queue: str) -> None:
    class Tells(releasing.Releases):
        async def _cancel_pending_request(self, request_id: str, ctx: WorkflowContext[str, Any]) -> None:
            await ctx.yield_output(ctx.is_streaming())

    def build() -> Workflow:
        return releasing.releasing(Tells("ask"))

    workflow = build()
    async for _ in workflow.run(1, stream=True):
        pass
    in_process = await workflow.cancel_pending_requests(["ask-0"])
    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1, stream=True)
        await pending(run)
        await run.cancel_pending_requests(["ask-0"])
        result = await run.result()

    assert in_process.get_outputs() == [False]
    assert result.get_outputs() == [True]


async def test_the_checkpoint_of_a_response_says_who_answered(client: Client, task_queue: str) -> None:
    store = BlobStore("memory://")
    async with serving(client, task_queue, asking(Script()), store=store) as durable:
        run = await durable.start(1)
        [request] = await pending(run)
        accepted = await run.respond(request.request_id, True, responder="ada", comment="as agreed")
        await run.result()

    checkpoint = await BlobCheckpointStorage(store, workflow=asking(Script())()).load(str(accepted.checkpoint_id))
    [entry] = checkpoint.metadata["responses"]
    assert entry.pop("at") == checkpoint.timestamp
    assert entry == {
        "request_id": request.request_id,
        "executor_id": "ask",
        "outcome": "accepted",
        "source": "person",
        "responder": "ada",
        "comment": "as agreed",
    }


async def test_the_builders_checkpoint_storage_is_not_used(client: Client, task_queue: str) -> None:
    storage = InMemoryCheckpointStorage()

    def build() -> Workflow:
        start = Add("start")
        builder = WorkflowBuilder(name="storing", start_executor=start, checkpoint_storage=storage)
        return builder.add_edge(start, Report("last")).build()

    async with serving(client, task_queue, build) as durable:
        await (await durable.start(1)).result()
    assert await storage.list_checkpoint_ids(workflow_name="storing") == []

    await build().run(1)
    assert len(await storage.list_checkpoint_ids(workflow_name="storing")) == 3


# --- what the events show -----------------------------------------------------------------------------------


async def test_events_of_a_delivery_come_together(client: Client, task_queue: str) -> None:
    script = Script()

    def build() -> Workflow:
        def slow(id: str) -> Executor:
            @executor(id=id)
            async def acts(value: int, ctx: WorkflowContext[int, str]) -> None:
                await ctx.yield_output(f"{id} 1")
                await script.enter(id)
                await ctx.yield_output(f"{id} 2")

            return acts

        return fan_out("interleaving", slow("one"), slow("two"))

    script.hold("one")
    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        await script.entered("two")
        script.release("one")
        result = await run.result()
        events = [event.data async for event in run.events() if event.type == "output"]

    assert sorted(map(tuple, (events[:2], events[2:]))) == [("one 1", "one 2"), ("two 1", "two 2")]
    assert result.get_outputs() == events


async def test_a_failed_executor_shows_its_failure_only(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="fails")
        async def fails(value: int, ctx: WorkflowContext[int, str]) -> None:
            await ctx.yield_output("half done")
            raise ValueError("no")

        return WorkflowBuilder(name="failing-late", start_executor=fails).build()

    in_process = [event.type async for event in _until_it_raises(build().run(1, stream=True))]
    async with serving(client, task_queue, build, default_activity_options=TWICE) as durable:
        run = await durable.start(1)
        await failure_of(run)
        on_temporal = [event.type async for event in run.events()]

    assert in_process == [*on_temporal[:4], "output", *on_temporal[4:]]
    assert on_temporal[3:6] == ["executor_invoked", "executor_failed", "failed"]


async def _until_it_raises(events: Any) -> Any:
    with contextlib.suppress(ValueError):
        async for event in events:
            yield event


async def test_an_unfilled_fan_in_is_reported(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        @executor(id="silent")
        async def silent(value: int, ctx: WorkflowContext[int]) -> None: ...

        start, sends = Add("start"), Add("sends")
        builder = WorkflowBuilder(name="unfilled", start_executor=start).add_fan_out_edges(start, [sends, silent])
        return builder.add_fan_in_edges([sends, silent], Report("join")).build()

    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        await run.result()
        warnings = [event.data async for event in run.events() if event.type == "warning"]

    assert warnings == [
        "Fan-in to executor 'join' never fired: 1 message(s) are buffered, and nothing came from 'silent'."
    ]


async def test_a_request_made_again_under_its_id_is_shown(client: Client, task_queue: str) -> None:
    def build() -> Workflow:
        class Insists(Executor):
            @handler
            async def ask(self, value: int, ctx: WorkflowContext[int, str]) -> None:
                await ctx.request_info("Well?", bool, request_id="well")

            @response_handler
            async def answered(self, question: str, answer: bool, ctx: WorkflowContext[int, str]) -> None:
                await (ctx.yield_output("fine") if answer else ctx.request_info(question, bool, request_id="well"))

        return WorkflowBuilder(name="insisting", start_executor=Insists(id="insists")).build()

    workflow = build()
    await workflow.run(1)
    again = await workflow.run(responses={"well": False})
    assert again.get_request_info_events() == []
    assert (await workflow.run(responses={"well": True})).get_outputs() == ["fine"]

    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        await pending(run)
        await run.respond("well", False)
        await until(lambda: _asked(run, 2))
        await run.respond("well", True)
        result = await run.result()
    assert result.get_outputs() == ["fine"]


async def _asked(run: DurableRun, times: int) -> bool:
    """Whether a run has shown so many requests, and is paused."""
    status = await run.status()
    if status.state.value != "IDLE_WITH_PENDING_REQUESTS":
        return False
    events = [event async for event in _until(run, status.events)]
    return sum(event.type == "request_info" for event in events) == times


async def _until(run: DurableRun, count: int) -> Any:
    async for event in run.events():
        yield event
        count -= 1
        if not count:
            return


async def test_an_exception_that_cannot_be_stored_still_says_what_it_said(client: Client, task_queue: str) -> None:
    class Holds(Exception):
        def __init__(self) -> None:
            super().__init__("out of paper")
            self.handle = lambda: None

    def build() -> Workflow:
        @executor(id="reports")
        async def reports(value: int, ctx: WorkflowContext[int, str]) -> None:
            await ctx.add_event(WorkflowEvent.error(Holds()))

        return WorkflowBuilder(name="reporting", start_executor=reports).build()

    async with serving(client, task_queue, build) as durable:
        run = await durable.start(1)
        await run.result()
        [error] = [event.data async for event in run.events() if event.type == "error"]

    assert isinstance(error, RuntimeError)
    assert str(error) == "Holds: out of paper"


async def test_a_cancelled_run_says_so(client: Client, task_queue: str) -> None:
    async with serving(client, task_queue, asking(Script())) as durable:
        run = await durable.start(1)
        await pending(run)
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        states = [event.state async for event in run.events() if event.type == "status"]

    assert states[-1] is not None
    assert states[-1].value == "CANCELLED"
