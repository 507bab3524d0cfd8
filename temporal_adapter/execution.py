"""One run at work: carries out the engine's decisions as activities, and turns what happens into facts.

Deterministic by construction: everything it does follows from facts in history, through the pure engine. It must never
import `agent_framework` or a user's module, decode a `wire.Value`, or keep a rule of its own about supersteps. The
doors for people and services are `workflow`'s.

How a worker's configuration reaches a run: `ACTIVITY_CONFIG`, an extern function that the plugin's interceptor
provides. Without it, as in a bare replayer, the defaults apply: activity options are no part of what Temporal compares
in a replay.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.workflow import ActivityConfig

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.activity_errors import (
        as_application_error,
        cause_of,
        failure_of,
        migrates,
        refuses_graph,
        will_pass,
    )
    from temporal_adapter.attendance import Attendance
    from temporal_adapter.calls import LONGEST_PAUSE, PAUSE, Calls
    from temporal_adapter.engine import (
        Answer,
        Commit,
        Committed,
        Decision,
        Deliver,
        DeliveryFailed,
        DeliveryFinished,
        Engine,
        Fact,
        Fail,
        Fate,
        Finish,
        InputRefused,
        InputStranded,
        Judge,
        JudgementFailed,
        JudgementStranded,
        Notified,
        Notify,
        Phase,
        ResponsesJudged,
        ResponsesReceived,
        Seeded,
        Stamp,
        Stranded,
        TurnEnded,
    )
    from temporal_adapter.graph_changes import told
    from temporal_adapter.stream_log import StreamLog, asks_for_stream, may_stream
    from temporal_adapter.turns import Turns
    from temporal_adapter.wire.names import (
        GRAPH_ERRORS,
        WAITS,
        executor_activity_type,
        service_activity_type,
    )

ACTIVITY_CONFIG = "temporal_adapter.activity_config"
"""Name of the extern function `(activity_type) -> ActivityConfig`."""

OBSERVE = "temporal_adapter.observe"
"""Name of the extern function `(fact, decision or record) -> None` that watches a replay; workers have none."""

DEFAULT_ACTIVITY_CONFIG = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=5),
    heartbeat_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(maximum_attempts=5, maximum_interval=timedelta(minutes=1)),
)
"""Options of executors' activities, under what the user sets."""

# Without a bound on attempts: a checkpoint that the blob store lacks is written as soon as the store is back.
_COMMIT = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=1),
    retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1)),
)

# A reminder that cannot be sent is given up; the next one is due in its time.
_NOTIFY = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=1),
    retry_policy=RetryPolicy(maximum_attempts=5, maximum_interval=timedelta(minutes=1)),
)
_REMINDERS_AT_ONCE = 20  # what activities are given of many requests must fit one workflow task

CANCEL_PATIENCE = timedelta(seconds=10)  # for checkpoints, when a run is cancelled

ResultT = TypeVar(
    "ResultT",
    wire.SeedResult,
    wire.DeliveryResult,
    wire.RespondResult,
    wire.CommitResult,
    wire.NotifyResult,
    wire.ResolvedKwargs,
    wire.KeepResult,
    wire.FetchResult,
    wire.CarryOnResult,
)


T = TypeVar("T")


class Execution:
    """The engine and the activities under way."""

    def __init__(self, options: Any, carried: wire.Carried | None = None) -> None:
        carried = carried or wire.Carried(clock="")  # nothing
        self._stream = StreamLog(carried.live) if may_stream(options) else None
        self._streams_by_default = asks_for_stream(options)
        self._streams = self._streams_by_default or carried.streams  # a turn of a session may ask for it
        info = workflow.info()
        self._name = info.workflow_type
        self._calls = Calls(info.workflow_type, self._tell_of_wait, self._look)
        self._turns = Turns(self._wait_for_turn, self._spawn)
        # Of what history has recorded last. `workflow.now()` will not do: just after a local activity it is another in
        # the first execution than in a replay.
        self._clock = max(carried.clock, info.workflow_start_time.isoformat(timespec="microseconds"))
        self._engine = Engine(
            lambda: Stamp(str(workflow.uuid4()), self._clock),
            marks_end=lambda: workflow.patched("the store is told how a run ended"),
            clock=_shown_time,
            leaves=self._leaves,
        )
        self._observe = _observer()
        if self._observe is not None:
            self._engine.observe(self._observe)
        self._facts: list[Fact] = []
        self._notifying = asyncio.Semaphore(_REMINDERS_AT_ONCE)
        self._attendance = Attendance(self._engine, self._spawn, self._tell, lambda: self._clock, carried.counted)
        self._deliveries: dict[int, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[None]] = set()  # kept, since asyncio holds tasks only weakly
        self._tickets: int = 0
        self._awaited: set[int] = set()  # tickets of updates
        self._released: set[int] = set()  # of these, those whose callers are told to send them again
        self._put_off: set[int] = set()  # tickets of responses that may have come before their requests
        self._answers: dict[int, tuple[Fate, ...]] = {}
        self._turn: str | None = carried.turn  # of a session, under way: the id of the update `run` that began it
        self._turn_asks: int | None = None  # the ticket of its responses, until the engine has them; -1: none yet
        self._turn_progress = {one.update_id: one.progress for one in carried.turns}  # of the last few
        self._answered_updates = dict(carried.updates)  # of the last few, by id
        self._asked_to_leave = False
        self._released_turn: str | None = None  # the turn whose caller is told to ask on in another link
        self._migrates = False  # the workers have another graph, and a migration to it
        self._conclusion: Finish | Fail | None = None
        self._error: BaseException | None = None  # of the delivery that failed the run
        self._crash: BaseException | None = None  # of a task of ours: a fault, which must stop the workflow task

    def _concluded(self) -> bool:
        """Whether the run is over and everybody who waits for an answer has it."""
        return self._conclusion is not None and self._nobody_waits()

    def _nobody_waits(self) -> bool:
        if self._stream is not None:
            self._stream.close()
        return workflow.all_handlers_finished()

    async def _cancel(self) -> None:
        """Stop the executors; give checkpoints that are not yet in the blob store a moment to get there."""
        if self._calls.in_history:
            self._take_facts()  # of what came before: not yet taken where a replay knows both at once
        for decision in self._engine.cancel():
            self._carry_out(decision)
        self._stop_deliveries()

        def stopped() -> bool:  # deliveries are over at once, unless the user's options say to wait for the executors
            return self._engine.phase is Phase.ENDED and not self._deliveries and self._nobody_waits()

        over = self._take_facts_until(stopped)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(over, CANCEL_PATIENCE.total_seconds())

    async def _begin(self, message: Any, options: Any) -> None:
        try:
            wire.check_depth(message)
            parsed = wire.parse_options(options)
            if parsed.session and message is None and parsed.restore is None:
                self._engine.open_session(parsed)
                return
            seed = self._engine.start(message, parsed)
            seed = wire.replace(seed, at=self._clock)
            result = await self._calls.despite_trouble("The run", self._calls.own("seed", seed))
        except wire.NewerSchema:  # the workflow task fails, and is tried again until a newer worker takes it
            raise
        except (FailureError, wire.WireError) as error:
            if is_cancelled_exception(error):
                raise
            failure = failure_of(error)
            self._engine.abort(failure)
            self._turns.take_all()
            await self._take_facts_until(self._nobody_waits)
            raise as_application_error(failure) from error
        self._facts.append(Seeded(self._recorded(wire.SeedResult, result)))

    async def _seed_further(self, seed: wire.SeedInput) -> None:
        if seed.options.restore is not None:  # of this session's own, the store may not have the last ones yet
            await workflow.wait_condition(lambda: not self._engine.lineage.unmirrored)
        try:
            result = await self._calls.despite_trouble("The input", self._calls.own("seed", seed))
        except FailureError as error:
            if is_cancelled_exception(error):
                return
            if migrates(error):
                await self._await_migration(error)
                self._facts.append(InputStranded())
            else:
                self._facts.append(InputRefused(self._failure_of(error)))
        else:
            self._facts.append(Seeded(self._recorded(wire.SeedResult, result)))

    def _recorded(self, shape: type[ResultT], data: Any) -> ResultT:
        """Read an activity's result, and the time from it."""
        result = wire.load(shape, data)
        self._clock = max(self._clock, result.at)
        return result

    # --- facts and decisions --------------------------------------------------------------------------------

    async def _take_facts_until(self, over: Callable[[], bool]) -> None:
        while not over():
            await workflow.wait_condition(lambda: bool(self._facts) or self._crash is not None or over())
            if self._crash is not None:  # not as it is: Temporal would fail the run for an error of its own kinds
                raise RuntimeError("A task of the run failed; this is a fault of the adapter.") from self._crash
            self._take_facts()

    def _take_facts(self) -> None:
        while self._facts:
            fact = self._facts.pop(0)
            if isinstance(fact, ResponsesReceived) and self._may_be_early(fact):
                self._others.add(self._spawn(self._receive_later(fact)))
                continue
            if self._observe is not None:
                self._observe(fact)
            for decision in self._engine.receive(fact):
                self._carry_out(decision)
        if self._engine.phase in (Phase.ENDING, Phase.ENDED) or self._engine.held:
            self._stop_deliveries()
        self._attendance.look()

    def _may_be_early(self, received: ResponsesReceived) -> bool:
        """Whether a request that is unknown may be in a result that came together with the response.

        A worker that has been away is given both at once, and sees signals and updates first. Only in runs of earlier
        releases: now all messages are taken in turn.
        """
        if (
            self._calls.in_history
            or received.source != "person"
            or received.ticket in self._put_off
            or not (self._deliveries or self._facts)
        ):
            return False
        unknown = self._engine.check_pending([one.request_id for one in received.responses]) is not None
        return unknown and workflow.patched("responses to unknown requests are taken in turn")

    async def _receive_later(self, received: ResponsesReceived) -> None:
        """Take responses again once the results that came with them are known: by the end of a local activity."""
        self._put_off.add(received.ticket)
        await self._wait_for_turn()
        self._facts.append(received)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """Do what a signal or update asks for, once everything that came before it is known."""
        if self._calls.in_history:
            return await self._turns.take(work)
        await self._wait_for_turn()  # a run of an earlier release
        return work()

    async def _wait_for_turn(self) -> None:
        with contextlib.suppress(FailureError):  # which would fail the run, of a signal
            taken = await self._calls.turn()
            self._clock = max(self._clock, taken.at)

    def _stop_deliveries(self) -> None:
        for task in self._deliveries.values():
            task.cancel()

    def _carry_out(self, decision: Decision) -> None:
        if self._observe is not None:
            self._observe(decision)
        match decision:
            case Deliver():
                self._deliveries[decision.index] = self._spawn(self._deliver(decision))
            case Judge():
                self._others.add(self._spawn(self._judge(decision)))
            case Commit():
                self._others.add(self._spawn(self._commit(decision)))
            case Notify():
                self._others.add(self._spawn(self._notify(decision)))
            case Answer(ticket, fates):
                if ticket == self._turn_asks:
                    self._turn_asks = None
                if ticket in self._awaited:
                    self._answers[ticket] = fates
                else:
                    self._log_refusals(fates)
            case TurnEnded(failure):
                if failure is not None:
                    self._stop_deliveries()
                if self._turn_asks is None:  # else it was nobody's turn: of a cancellation, before the caller's
                    self._streams = self._streams_by_default
                    self._end_turn(failure)
            case Finish() | Fail():
                self._conclusion = decision
                self._turns.take_all()  # else a stream of messages would never let it end

    def _end_turn(self, failure: wire.Failure | None) -> None:
        ended, self._turn = self._turn, None
        if ended in self._turn_progress:
            journal = self._engine.journal
            told = {"next": journal.length, "state": journal.state, "failure": failure}
            self._turn_progress[ended] = wire.replace(self._turn_progress[ended], **told)

    def _tell(self, fact: Fact) -> None:
        self._look()
        self._facts.append(fact)

    def _look(self) -> None:
        """See how long history is; called where an event of it brings something about."""

    def _leaves(self, troubled: bool) -> bool:
        """Whether the run is to go on as another Temporal run; `troubled`: the blob store is in trouble."""
        return False

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._others.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._crash = task.exception()

    async def _deliver(self, decision: Deliver) -> None:
        path = [*decision.input.path, decision.input.executor_id]
        activity_type = executor_activity_type(self._name, path)
        config = _activity_config(activity_type)
        data = decision.input
        if self._stream is not None and self._streams and not data.path:  # MAF runs a sub-workflow without streaming
            data = wire.replace(data, stream=self._stream.room(len(self._deliveries)))
        who = f"Executor {'/'.join(path)!r}"
        try:
            result = await self._unless_stranded(
                lambda: self._calls.despite_trouble(
                    who, lambda: self._calls.activity(activity_type, data, config), lambda: self._leaves(False)
                ),
                Stranded(decision.index),
            )
        except FailureError as error:
            if is_cancelled_exception(error) and (self._engine.phase is not Phase.RUNNING or self._engine.held):
                return  # cancelled by us: a sibling failed, the run was cancelled, or is to be migrated first
            self._error = error
            self._facts.append(DeliveryFailed(decision.index, self._failure_of(error)))
        else:
            self._facts.append(DeliveryFinished(decision.index, self._recorded(wire.DeliveryResult, result)))
        finally:
            self._deliveries.pop(decision.index, None)

    async def _unless_stranded(self, call: Callable[[], Awaitable[Any]], stranded: Stranded) -> Any:
        """Make a call, and again while the run has to go on as a new one first, because of what it fails of.

        The workers have another graph and can migrate the run to it; or history has become long while it waits for
        what will pass.
        """
        pause = PAUSE
        while True:
            try:
                return await call()
            except FailureError as error:
                if migrates(error):
                    await self._await_migration(error)
                elif will_pass(error):
                    await workflow.sleep(PAUSE)
                else:
                    raise
                self._facts.append(stranded)
            await workflow.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _await_migration(self, error: FailureError) -> None:
        """The run is to go on as a new one, in the graph that the workers have now; soon, since a rollback may come."""
        if not self._migrates:
            self._warn(f"The run is to be migrated: {self._told(error)}")
        self._migrates = True
        await workflow.sleep(PAUSE)

    def _failure_of(self, error: FailureError) -> wire.Failure:
        """Return why an activity failed; of a worker that refuses the run for its graph, also what is otherwise."""
        failure = failure_of(error)
        return wire.replace(failure, message=self._told(error)) if refuses_graph(error) else failure

    async def _judge(self, decision: Judge) -> None:
        try:
            result = await self._calls.despite_trouble("A response", self._calls.own("respond", decision.input))
        except FailureError as error:
            if is_cancelled_exception(error):
                return
            if migrates(error):
                await self._await_migration(error)
                self._facts.append(JudgementStranded())
                return
            if refuses_graph(error) and not self._engine.is_session:
                self._facts.append(JudgementFailed(self._failure_of(error)))
                return
            reason = f"it could not be judged ({self._told(error)}). Send it again once that is mended."
            ids = [response.request_id for response in decision.input.responses]
            judgements = [wire.Judgement(request_id=one, refused=reason) for one in ids]
            self._facts.append(ResponsesJudged(wire.RespondResult(judgements=judgements, at=self._clock)))
        else:
            self._facts.append(ResponsesJudged(self._recorded(wire.RespondResult, result)))

    async def _notify(self, decision: Notify) -> None:
        request, at = decision.input.request, decision.due
        activity_type = service_activity_type(self._name, "notify")
        try:
            async with self._notifying:
                result = await self._calls.activity(activity_type, decision.input, _NOTIFY)
        except FailureError as error:
            if is_cancelled_exception(error):
                return
            if migrates(error):
                await self._await_migration(error)
            else:
                self._warn(f"Nobody could be reminded of request {request.request_id!r}: {self._told(error)}")
        else:
            at = max(at, self._recorded(wire.NotifyResult, result).at)
        self._facts.append(Notified(request, at))

    async def _commit(self, decision: Commit) -> None:
        activity_type = service_activity_type(self._name, "commit")
        try:
            result = await self._calls.despite_trouble(
                "A checkpoint", lambda: self._calls.activity(activity_type, decision.input, _COMMIT)
            )
        except FailureError as error:
            if not is_cancelled_exception(error):
                raise
        else:
            committed = self._recorded(wire.CommitResult, result)
            self._facts.append(Committed(committed.records, tuple(committed.stowed)))

    # --- what has nobody to tell it to ---

    def _log_refusals(self, fates: Sequence[Fate]) -> None:
        for fate in fates:
            if fate.refused is not None:
                workflow.logger.warning("What was sent to request %r was refused: %s", fate.request_id, fate.refused)

    def _tell_of_wait(self, who: str, error: FailureError) -> None:
        self._warn(f"{who} {WAITS}: {self._told(error)}")

    def _told(self, error: FailureError) -> str:
        """Return what an activity failed of; of a worker with another graph, also what is otherwise in that."""
        cause = cause_of(error)
        if not isinstance(cause, ApplicationError) or cause.type not in GRAPH_ERRORS or not self._engine.graph_known:
            return str(cause)
        return f"{cause} {told(self._engine.graph, cause.details)}"

    def _warn(self, text: str) -> None:
        """Show something that whoever sent a signal cannot be told: in the events and in the worker's log."""
        self._engine.journal.warn(text)
        workflow.logger.warning("%s", text)


# --- options, JSON ------------------------------------------------------------------------------------------


def _activity_config(activity_type: str) -> ActivityConfig:
    functions = cast("Mapping[str, Callable[[str], ActivityConfig]]", workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType]
    return functions[ACTIVITY_CONFIG](activity_type) if ACTIVITY_CONFIG in functions else DEFAULT_ACTIVITY_CONFIG


def _shown_time() -> str:
    """Return the present time where it is only shown: after a local activity a replay has a slightly other one."""
    return workflow.now().isoformat(timespec="microseconds")


def _observer() -> Callable[[Any], None] | None:
    return cast("Mapping[str, Callable[[Any], None]]", workflow.extern_functions()).get(OBSERVE)  # pyright: ignore[reportUnknownMemberType]
