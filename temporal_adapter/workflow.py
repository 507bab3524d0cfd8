"""The Temporal workflow: carries out the engine's decisions as activities, and turns what happens into facts.

Deterministic by construction: everything it does follows from facts in history, through the pure engine. It must never
import `agent_framework` or a user's module, decode a `wire.Value`, or keep a rule of its own about supersteps.

There is one workflow type per MAF workflow name, made by `workflow_type`. Temporal's sandbox imports a workflow class
by module and name; the module's `__getattr__` makes the class for any name that `workflow_type` would give it.

How a worker's configuration reaches a run: `ACTIVITY_CONFIG`, an extern function that the plugin's interceptor
provides. Without it, as in a bare replayer, the defaults apply: activity options are no part of what Temporal compares
in a replay.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import types
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception
from temporalio.workflow import ActivityConfig, LocalActivityConfig

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.activity_errors import as_application_error, cause_of, failure_of, will_pass
    from temporal_adapter.answers import fates_as_json, page_of_requests, readable_request
    from temporal_adapter.converter import ordered_json
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
        Judge,
        Phase,
        ResponsesJudged,
        ResponsesReceived,
        Seeded,
        SessionRefused,
        Stamp,
        TurnEnded,
    )
    from temporal_adapter.stream_log import StreamLog, asks_for_stream
    from temporal_adapter.wire.names import (
        RESPONSE_REFUSED,
        RETRY_REFUSED,
        SESSION_REFUSED,
        Service,
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

_LOCAL = LocalActivityConfig(
    start_to_close_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(maximum_attempts=3, initial_interval=timedelta(milliseconds=200)),
)
# Without a bound on attempts: a checkpoint that the blob store lacks is written as soon as the store is back.
_COMMIT = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=1),
    retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=1)),
)

# Between tries while the workers have another graph than the run was started with, or the blob store is away.
_PAUSE, _LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)

_SHOWN_REASONS = 2000  # characters of refusals in the error of an update; its details have each in full

_CANCEL_PATIENCE = timedelta(seconds=10)  # for checkpoints, when a run is cancelled

ResultT = TypeVar("ResultT", wire.SeedResult, wire.DeliveryResult, wire.RespondResult, wire.CommitResult)


class AgentFrameworkRun:
    """One run: the engine, the activities under way, and the doors for people and services."""

    @workflow.init
    def __init__(self, message: Any = None, options: Any = None) -> None:
        self._stream = StreamLog() if asks_for_stream(options) else None
        info = workflow.info()
        self._name = info.workflow_type
        # Of what history has recorded last. `workflow.now()` will not do: just after a local activity it is another in
        # the first execution than in a replay.
        self._clock = info.workflow_start_time.isoformat(timespec="microseconds")
        self._engine = Engine(
            lambda: Stamp(str(workflow.uuid4()), self._clock),
            marks_end=lambda: workflow.patched("the store is told how a run ended"),
        )
        self._observe = _observer()
        if self._observe is not None:
            self._engine.observe(self._observe)
        self._facts: list[Fact] = []
        self._deliveries: dict[int, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[None]] = set()  # kept, since asyncio holds tasks only weakly
        self._tickets = 0
        self._awaited: set[int] = set()  # tickets of updates
        self._answers: dict[int, tuple[Fate, ...]] = {}
        self._turns = 0  # of a session, begun by the update `run`
        self._turn_ends: dict[int, TurnEnded] = {}
        self._conclusion: Finish | Fail | None = None
        self._error: BaseException | None = None  # of the delivery that failed the run
        self._crash: BaseException | None = None  # of a task of ours: a fault, which must stop the workflow task

    async def run_template(self, message: Any = None, options: Any = None) -> Any:
        try:
            await self._begin(message, options)
            await self._take_facts_until(self._concluded)
        except BaseException as error:
            # Not when a worker merely drops the run from its cache, which looks the same from here.
            if is_cancelled_exception(error) and workflow.cancellation_reason() is not None:
                await self._cancel()
            raise
        if isinstance(self._conclusion, Finish):
            return ordered_json(wire.dump(self._conclusion.result))
        assert self._conclusion is not None
        raise as_application_error(self._conclusion.failure) from self._error

    def _concluded(self) -> bool:
        """Whether the run is over and everybody who waits for an answer has it."""
        return self._conclusion is not None and self._nobody_waits()

    def _nobody_waits(self) -> bool:
        if self._stream is not None:
            self._stream.close()
        return workflow.all_handlers_finished()

    async def _cancel(self) -> None:
        """Stop the executors; give checkpoints that are not yet in the blob store a moment to get there."""
        for decision in self._engine.cancel():
            self._carry_out(decision)
        self._stop_deliveries()

        def stopped() -> bool:  # deliveries are over at once, unless the user's options say to wait for the executors
            return self._engine.phase is Phase.ENDED and not self._deliveries and self._nobody_waits()

        over = self._take_facts_until(stopped)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(over, _CANCEL_PATIENCE.total_seconds())

    async def _begin(self, message: Any, options: Any) -> None:
        try:
            wire.check_depth(message)
            parsed = wire.parse_options(options)
            if parsed.session and message is None and parsed.restore is None:
                self._engine.open_session(parsed)
                return
            seed = self._engine.start(message, parsed)
            result = await self._despite_trouble("The run", lambda: self._local("seed", seed))
        except (FailureError, wire.WireError) as error:
            if is_cancelled_exception(error):
                raise
            failure = failure_of(error)
            self._engine.abort(failure)
            await self._take_facts_until(self._nobody_waits)
            raise as_application_error(failure) from error
        self._facts.append(Seeded(self._recorded(wire.SeedResult, result)))

    async def _seed_further(self, seed: wire.SeedInput) -> None:
        try:
            result = await self._despite_trouble("The input", lambda: self._local("seed", seed))
        except FailureError as error:
            if not is_cancelled_exception(error):
                self._facts.append(InputRefused(failure_of(error)))
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
            while self._facts:
                fact = self._facts.pop(0)
                if self._observe is not None:
                    self._observe(fact)
                for decision in self._engine.receive(fact):
                    self._carry_out(decision)
            if self._engine.phase in (Phase.ENDING, Phase.ENDED):
                self._stop_deliveries()

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
            case Answer(ticket, fates):
                if ticket in self._awaited:
                    self._answers[ticket] = fates
                else:
                    self._log_refusals(fates)
            case TurnEnded():
                self._turn_ends[self._turns] = decision
            case Finish() | Fail():
                self._conclusion = decision

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
        if self._stream is not None and not data.path:  # MAF runs a sub-workflow without streaming
            data = wire.replace(data, stream=self._stream.room(len(self._deliveries)))
        try:
            result = await self._despite_trouble(
                f"Executor {'/'.join(path)!r}",
                lambda: self._activity(activity_type, data, config),
            )
        except FailureError as error:
            if is_cancelled_exception(error) and self._engine.phase is not Phase.RUNNING:
                return  # cancelled by us, because a sibling failed or the run was cancelled
            self._error = error
            self._facts.append(DeliveryFailed(decision.index, failure_of(error)))
        else:
            self._facts.append(DeliveryFinished(decision.index, self._recorded(wire.DeliveryResult, result)))
        finally:
            self._deliveries.pop(decision.index, None)

    async def _judge(self, decision: Judge) -> None:
        try:
            result = await self._despite_trouble("A response", lambda: self._local("respond", decision.input))
        except FailureError as error:
            if is_cancelled_exception(error):
                return
            reason = f"it could not be judged ({failure_of(error).message}). Send it again once that is mended."
            ids = [response.request_id for response in decision.input.responses]
            judgements = [wire.Judgement(request_id=one, refused=reason) for one in ids]
            self._facts.append(ResponsesJudged(wire.RespondResult(judgements=judgements, at=self._clock)))
        else:
            self._facts.append(ResponsesJudged(self._recorded(wire.RespondResult, result)))

    async def _commit(self, decision: Commit) -> None:
        activity_type = service_activity_type(self._name, "commit")
        try:
            result = await self._despite_trouble(
                "A checkpoint", lambda: self._activity(activity_type, decision.input, _COMMIT)
            )
        except FailureError as error:
            if not is_cancelled_exception(error):
                raise
        else:
            committed = self._recorded(wire.CommitResult, result)
            self._facts.append(Committed(committed.records, tuple(committed.stowed)))

    async def _despite_trouble(self, who: str, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call again and again while it fails of what will pass; whatever else it raises is raised."""
        pause = _PAUSE
        while True:
            try:
                return await call()
            except FailureError as error:
                if not will_pass(error):
                    raise
                if pause == _PAUSE:
                    self._warn(f"{who} waits, and is tried again: {cause_of(error)}")
            await workflow.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _activity(self, activity_type: str, data: Any, config: ActivityConfig) -> Any:
        return await workflow.execute_activity(activity_type, ordered_json(wire.dump(data)), **config)

    async def _local(self, service: Service, data: Any) -> Any:
        activity_type = service_activity_type(self._name, service)
        return await workflow.execute_local_activity(activity_type, ordered_json(wire.dump(data)), **_LOCAL)

    # --- doors ----------------------------------------------------------------------------------------------

    @workflow.signal(name="respond", description="Answer pending requests; refusals show in the events.")
    def _respond_signal(self, responses: Any = None, *more: Any) -> None:
        # A signal with other arguments than expected must not fail the workflow task: it would do so for ever.
        try:
            parsed = wire.parse_responses(responses, *more)
        except wire.WireError as error:
            self._warn(f"A respond signal was refused: {error}")
            return
        self._receive(parsed)

    @workflow.signal(dynamic=True)
    def _unknown_signal(self, name: str, _: Sequence[RawValue]) -> None:
        self._warn(f"Signal {name!r} is unknown, and was ignored; requests are answered by the signal 'respond'.")

    def _log_refusals(self, fates: Sequence[Fate]) -> None:
        for fate in fates:
            if fate.refused is not None:
                workflow.logger.warning("A response to request %r was refused: %s", fate.request_id, fate.refused)

    def _warn(self, text: str) -> None:
        """Show something that whoever sent a signal cannot be told: in the events and in the worker's log."""
        self._engine.journal.warn(text)
        workflow.logger.warning("%s", text)

    @workflow.update(name="respond", description="Answer pending requests; fails with the reason if refused.")
    async def _respond_update(self, responses: Any = None, *more: Any) -> Any:
        return await self._respond(wire.parse_responses(responses, *more))

    async def _respond(self, responses: Sequence[wire.Response]) -> Any:
        ticket = self._receive(responses)
        self._awaited.add(ticket)
        await workflow.wait_condition(lambda: ticket in self._answers)
        self._awaited.discard(ticket)
        fates = self._answers.pop(ticket)
        refused = [fate.refused for fate in fates if fate.refused is not None]
        if refused:
            reasons = " ".join(refused)
            shown = reasons if len(reasons) <= _SHOWN_REASONS else f"{reasons[:_SHOWN_REASONS]}..."
            raise ApplicationError(shown, fates_as_json(fates), type=RESPONSE_REFUSED, non_retryable=True)
        return ordered_json(fates_as_json(fates))

    @_respond_update.validator
    def _validate_respond(self, responses: Any = None, *more: Any) -> None:
        try:
            wire.parse_responses(responses, *more)
        except wire.WireError as error:
            raise ApplicationError(str(error), type=RESPONSE_REFUSED, non_retryable=True) from None

    @workflow.signal(name="retry", description="Run failed executors again; see the update of the same name.")
    async def _retry_signal(self, *executors: Any) -> None:
        try:
            await self._retry(executors)
        except ApplicationError as error:
            self._warn(f"A retry signal was refused: {error.message}")

    @workflow.update(name="retry", description="Run failed executors again: those named by path, or all.")
    async def _retry_update(self, *executors: Any) -> Any:
        return await self._retry(executors)

    async def _in_turn(self) -> None:
        """Wait until the results that came before an update are known.

        A worker without the run in its cache may be given the update first. By the time of a timer both are known, in
        the first execution as in every replay.
        """
        await workflow.sleep(timedelta(milliseconds=1))

    # --- sessions -------------------------------------------------------------------------------------------

    @workflow.update(name="run", description="Give a session an input, responses, or a checkpoint to go on from.")
    async def _run_update(self, data: Any = None, *more: Any) -> Any:
        given = wire.parse_session_input(data, *more)
        await self._in_turn()
        first = self._engine.journal.length
        try:
            self._begin_turn(given)
        except SessionRefused as refused:
            raise ApplicationError(str(refused), type=SESSION_REFUSED, non_retryable=True) from None
        self._turns += 1
        turn = self._turns
        if given.responses is not None and given.checkpoint_id is None:
            await self._respond([wire.Response(request_id=one, response=it) for one, it in given.responses.items()])
        ended = (Phase.ENDING, Phase.ENDED)
        await workflow.wait_condition(lambda: turn in self._turn_ends or self._engine.phase in ended)
        if turn not in self._turn_ends:
            raise ApplicationError("The session has ended.", type=SESSION_REFUSED, non_retryable=True)
        failure = self._turn_ends.pop(turn).failure
        if failure is not None:
            raise as_application_error(failure, non_retryable=True)
        journal = self._engine.journal
        return ordered_json(wire.dump(wire.Turn(first=first, next=journal.length, state=journal.state)))

    def _begin_turn(self, given: wire.SessionInput) -> None:
        restore: wire.Restore | None = None
        if given.checkpoint_id is not None:
            restore = wire.Restore(verb="resume", checkpoint_id=given.checkpoint_id, responses=given.responses or {})
        elif given.responses is not None:
            self._engine.check_at_rest()
            return
        options = wire.StartOptions(
            encoding=given.encoding,
            function_invocation_kwargs=given.function_invocation_kwargs,
            client_kwargs=given.client_kwargs,
            restore=restore,
        )
        self._others.add(self._spawn(self._seed_further(self._engine.input(given.message, options))))

    @_run_update.validator
    def _validate_run(self, data: Any = None, *more: Any) -> None:
        try:
            wire.parse_session_input(data, *more)
        except wire.WireError as error:
            raise ApplicationError(str(error), type=SESSION_REFUSED, non_retryable=True) from None

    @workflow.update(name="reset", description="Put a session at rest back to what it was before its first input.")
    async def _reset_update(self) -> None:
        await self._in_turn()
        try:
            self._engine.reset()
        except SessionRefused as refused:
            raise ApplicationError(str(refused), type=SESSION_REFUSED, non_retryable=True) from None

    @workflow.update(name="close", description="End a session at rest.")
    async def _close_update(self) -> None:
        await self._in_turn()
        try:
            for decision in self._engine.close():
                self._carry_out(decision)
        except SessionRefused as refused:
            raise ApplicationError(str(refused), type=SESSION_REFUSED, non_retryable=True) from None

    # --- an operator ----------------------------------------------------------------------------------------

    async def _retry(self, executors: Sequence[Any]) -> list[str]:
        await self._in_turn()
        failed = [one.executor for one in self._engine.status().failed_executors]
        unknown = [one for one in executors if one not in failed]
        if unknown or not failed:
            there = f"there are {', '.join(map(repr, failed))}" if failed else "none does"
            named = ", ".join(map(repr, unknown)) or "any"
            raise ApplicationError(
                f"No executor {named} waits for a retry; {there}.", type=RETRY_REFUSED, non_retryable=True
            )
        wanted = [one for one in failed if not executors or one in executors]
        self._error = None  # of a failure that is not the run's
        for decision in self._engine.retry(wanted):
            self._carry_out(decision)
        return wanted

    def _receive(self, responses: Sequence[wire.Response]) -> int:
        self._tickets += 1
        self._facts.append(ResponsesReceived(self._tickets, tuple(responses)))
        return self._tickets

    @workflow.query(name="status", description="State, superstep, and the head of the checkpoint lineage.")
    def _status(self) -> Any:
        return ordered_json(wire.dump(self._engine.status()))

    @workflow.query(name="pending_requests", description="Requests that wait for a response, in plain JSON.")
    def _pending_requests(self, offset: int = 0) -> Any:
        return ordered_json(
            [
                wire.dump(readable_request(request))
                for request in page_of_requests(self._engine.pending_requests(), offset)
            ]
        )

    @workflow.query(name="requests", description="Requests that wait for a response, with their types kept.")
    def _requests(self, offset: int = 0) -> Any:
        return ordered_json(
            [wire.dump(request) for request in page_of_requests(self._engine.pending_requests(), offset)]
        )

    @workflow.query(name="checkpoints", description="The checkpoint lineage, oldest first.")
    def _checkpoints(self) -> Any:
        return ordered_json([wire.dump(header) for header in self._engine.lineage.headers])

    @workflow.query(name="events", description="Events from an offset on, in pages.")
    def _events(self, offset: int = 0) -> Any:
        page = self._engine.journal.page(offset, ended=self._engine.phase is Phase.ENDED)
        return ordered_json(wire.dump(page))


# --- options, JSON ------------------------------------------------------------------------------------------


def _activity_config(activity_type: str) -> ActivityConfig:
    functions = cast("Mapping[str, Callable[[str], ActivityConfig]]", workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType]
    return functions[ACTIVITY_CONFIG](activity_type) if ACTIVITY_CONFIG in functions else DEFAULT_ACTIVITY_CONFIG


def _observer() -> Callable[[Any], None] | None:
    return cast("Mapping[str, Callable[[Any], None]]", workflow.extern_functions()).get(OBSERVE)  # pyright: ignore[reportUnknownMemberType]


# --- one workflow type per MAF workflow ---------------------------------------------------------------------

_CLASS_PREFIX = "AgentFrameworkWorkflow_"


@functools.cache
def workflow_type(name: str) -> type[AgentFrameworkRun]:
    """Return the Temporal workflow class for the MAF workflow called `name`.

    It needs neither MAF nor the user's code, so a replayer can be given it anywhere:
    `Replayer(workflows=[workflow_type("expense-approval")])`.
    """
    class_name = _CLASS_PREFIX + re.sub(r"[^A-Za-z0-9]", lambda match: f"_{ord(match[0]):x}_", name)
    template = AgentFrameworkRun.run_template
    run = types.FunctionType(template.__code__, template.__globals__, "run", template.__defaults__)
    run.__qualname__ = f"{class_name}.run"  # Temporal takes a local-looking name for a local class
    run.__module__ = __name__
    run.__annotations__ = dict(template.__annotations__)  # as those of __init__, which Temporal compares
    namespace = {"__module__": __name__, "__qualname__": class_name, "__doc__": f"The MAF workflow {name!r}."}
    cls = type(class_name, (AgentFrameworkRun,), {**namespace, "run": workflow.run(run)})
    return workflow.defn(name=name)(cls)


def __getattr__(attribute: str) -> Any:
    if not attribute.startswith(_CLASS_PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")
    encoded = attribute.removeprefix(_CLASS_PREFIX)
    return workflow_type(re.sub(r"_([0-9a-f]+)_", lambda match: chr(int(match[1], 16)), encoded))
