"""The Temporal workflow: the run as people and services see it. Its work is `execution`'s.

There is one workflow type per MAF workflow name, made by `workflow_type`. Temporal's sandbox imports a workflow class
by module and name; the module's `__getattr__` makes the class for any name that `workflow_type` would give it.
"""

from __future__ import annotations

import contextlib
import functools
import re
import types
from collections.abc import Generator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.activity_errors import as_application_error, failure_of
    from temporal_adapter.answers import (
        fates_as_json,
        page_of_outputs,
        page_of_records,
        page_of_requests,
        readable_request,
        readable_responded,
    )
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.engine import (
        CancelRequested,
        Fate,
        Finish,
        Phase,
        ResponsesReceived,
        SessionRefused,
    )
    from temporal_adapter.execution import Execution
    from temporal_adapter.wire.names import (
        CANCEL_REFUSED,
        RESPONSE_REFUSED,
        RETRY_REFUSED,
        SESSION_REFUSED,
    )

_TURNS_TOLD = 8  # of a session: as many callers may ask for the events of theirs
_SHOWN_REASONS = 2000  # characters of refusals in the error of an update; its details have each in full


class AgentFrameworkRun(Execution):
    """One run, with its signals, updates and queries."""

    @workflow.init
    def __init__(self, message: Any = None, options: Any = None) -> None:
        super().__init__(options)

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

    @workflow.update(name="respond", description="Answer pending requests; fails with the reason if refused.")
    async def _respond_update(self, responses: Any = None, *more: Any) -> Any:
        return await self._respond(wire.parse_responses(responses, *more))

    async def _respond(
        self,
        responses: Sequence[wire.Response],
        *,
        whole: bool = False,
        state: Mapping[str, wire.Value] | None = None,
    ) -> Any:
        fates = await self._fates(self._receive(responses, whole=whole, state=state), RESPONSE_REFUSED)
        return ordered_json(fates_as_json(fates))

    async def _fates(self, ticket: int, error_type: str) -> Sequence[Fate]:
        """Wait for the answer to a ticket.

        Raises:
            ApplicationError: Of this type; something of it was refused.
        """
        self._awaited.add(ticket)
        await workflow.wait_condition(lambda: ticket in self._answers)
        self._awaited.discard(ticket)
        fates = self._answers.pop(ticket)
        refused = [fate.refused for fate in fates if fate.refused is not None]
        if refused:
            reasons = " ".join(refused)
            shown = reasons if len(reasons) <= _SHOWN_REASONS else f"{reasons[:_SHOWN_REASONS]}..."
            raise ApplicationError(shown, fates_as_json(fates), type=error_type, non_retryable=True)
        return fates

    @_respond_update.validator
    def _validate_respond(self, responses: Any = None, *more: Any) -> None:
        try:
            wire.parse_responses(responses, *more)
        except wire.WireError as error:
            raise ApplicationError(str(error), type=RESPONSE_REFUSED, non_retryable=True) from None

    @workflow.signal(name="cancel_requests", description="Cancel pending requests; refusals show in the events.")
    async def _cancel_requests_signal(self, asked: Any = None, *more: Any) -> None:
        try:
            parsed = wire.parse_cancel_requests(asked, *more)
        except wire.WireError as error:
            self._warn(f"A cancel_requests signal was refused: {error}")
            return
        with contextlib.suppress(FailureError):  # which would fail the run
            await self._in_turn()
        self._receive_cancellation(parsed)

    @workflow.update(name="cancel_requests", description="Cancel pending requests, all or none; or fail with a reason.")
    async def _cancel_requests_update(self, asked: Any = None, *more: Any) -> Any:
        parsed = wire.parse_cancel_requests(asked, *more)
        await self._in_turn()
        fates = await self._fates(self._receive_cancellation(parsed), CANCEL_REFUSED)
        return {"cancelled": [fate.request_id for fate in fates]}

    @_cancel_requests_update.validator
    def _validate_cancel_requests(self, asked: Any = None, *more: Any) -> None:
        try:
            wire.parse_cancel_requests(asked, *more)
        except wire.WireError as error:
            raise ApplicationError(str(error), type=CANCEL_REFUSED, non_retryable=True) from None

    def _receive_cancellation(self, asked: wire.CancelRequests) -> int:
        self._tickets += 1
        self._facts.append(CancelRequested(self._tickets, asked))
        return self._tickets

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

        A worker without the run in its cache may be given the update first. By the end of a local activity both are
        known, in the first execution as in every replay; and sooner than by a timer, which takes up to a second.
        """
        self._recorded(wire.TurnTaken, await self._local("turn", wire.TakeTurn()))

    # --- sessions -------------------------------------------------------------------------------------------

    async def _opened(self) -> None:
        """Wait until a session that goes on from a checkpoint has it: its caller cannot know when that is."""
        await workflow.wait_condition(lambda: self._engine.phase is not Phase.SEEDING or self._turn is not None)

    @workflow.update(name="run", description="Give a session an input, responses, or a checkpoint to go on from.")
    async def _run_update(self, data: Any = None, *more: Any) -> Any:
        given = wire.parse_session_input(data, *more)
        await self._in_turn()
        await self._opened()
        first = self._engine.journal.length
        with _refusing():
            self._begin_turn(given)
        self._turns += 1
        turn = self._turn = self._turns
        self._tell_progress(wire.TurnProgress(first=first, live=0 if self._stream is None else self._stream.offset))
        self._streams = given.stream or self._streams_by_default
        if given.responses is not None and given.checkpoint_id is None:
            await self._respond_in_turn(given, given.responses)
        ended = (Phase.ENDING, Phase.ENDED)
        await workflow.wait_condition(lambda: turn in self._turn_ends or self._engine.phase in ended)
        self._tell_progress(next=self._engine.journal.length)
        if turn not in self._turn_ends:
            raise ApplicationError("The session has ended.", type=SESSION_REFUSED, non_retryable=True)
        failure = self._turn_ends.pop(turn).failure
        if failure is not None:
            raise as_application_error(failure, non_retryable=True)
        journal = self._engine.journal
        return ordered_json(wire.dump(wire.Turn(first=first, next=journal.length, state=journal.state)))

    def _tell_progress(self, progress: wire.TurnProgress | None = None, **changes: Any) -> None:
        """Note where the turn of the update that is handled now stands."""
        update = workflow.current_update_info()
        assert update is not None
        known = self._turn_progress
        known[update.id] = wire.replace(progress or known[update.id], **changes)
        if len(known) > _TURNS_TOLD:
            del known[next(iter(known))]

    @workflow.query(name="turn", description="Where the turn of an update `run` stands in the events, by its id.")
    def _turn_query(self, update_id: str = "") -> Any:
        progress = self._turn_progress.get(update_id)
        return None if progress is None else ordered_json(wire.dump(progress))

    def _begin_turn(self, given: wire.SessionInput) -> None:
        if self._turn is not None:  # responses that the engine has not seen yet, say
            raise SessionRefused("The session is running: wait until it is idle, or waits for responses.")
        if given.checkpoint_id is not None and _has_kwargs(given):
            raise SessionRefused(
                "function_invocation_kwargs and client_kwargs come with a message or responses: what goes on from a "
                "checkpoint has those of the checkpoint."
            )
        restore: wire.Restore | None = None
        if given.checkpoint_id is not None:
            restore = wire.Restore(verb="resume", checkpoint_id=given.checkpoint_id, responses=given.responses or {})
        elif given.responses is not None:
            self._check_responses(given.responses)
            return
        options = wire.StartOptions(
            encoding=given.encoding,
            function_invocation_kwargs=given.function_invocation_kwargs,
            client_kwargs=given.client_kwargs,
            restore=restore,
        )
        self._others.add(self._spawn(self._seed_further(self._engine.input(given.message, options))))

    def _check_responses(self, responses: Mapping[str, Any]) -> None:
        self._engine.check_at_rest()
        if not responses:
            raise SessionRefused("There are no responses in it, so that nothing would go on.")
        reason = self._engine.check_pending(responses)
        if reason is not None:
            raise ApplicationError(reason, type=RESPONSE_REFUSED, non_retryable=True)

    async def _respond_in_turn(self, given: wire.SessionInput, responses: Mapping[str, Any]) -> None:
        """Give a turn its responses: all of them, or the turn is none."""
        self._turn_asks = -1
        try:
            state = await self._resolved_kwargs(given) if _has_kwargs(given) else None
            self._turn_asks = self._tickets + 1
            await self._respond(
                [wire.Response(request_id=one, response=it) for one, it in responses.items()],
                whole=len(responses) > 1,
                state=state,
            )
        except ApplicationError:
            self._turn, self._turn_asks, self._streams = None, None, self._streams_by_default
            raise

    async def _resolved_kwargs(self, given: wire.SessionInput) -> Mapping[str, wire.Value]:
        """Return the shared state that run kwargs become."""
        options = wire.StartOptions(
            encoding=given.encoding,
            function_invocation_kwargs=given.function_invocation_kwargs,
            client_kwargs=given.client_kwargs,
        )
        data = wire.ResolveKwargs(graph=self._engine.graph_signature, options=options)
        try:
            result = await self._despite_trouble("A response", lambda: self._local("kwargs", data))
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            raise as_application_error(failure_of(error), non_retryable=True) from error
        return self._recorded(wire.ResolvedKwargs, result).state

    @_run_update.validator
    def _validate_run(self, data: Any = None, *more: Any) -> None:
        try:
            wire.parse_session_input(data, *more)
        except wire.WireError as error:
            raise ApplicationError(str(error), type=SESSION_REFUSED, non_retryable=True) from None

    @workflow.update(name="reset", description="Put a session at rest back to what it was before its first input.")
    async def _reset_update(self) -> None:
        await self._in_turn()
        await self._opened()
        with _refusing():
            for decision in self._engine.reset():
                self._carry_out(decision)

    @workflow.update(name="close", description="End a session at rest.")
    async def _close_update(self) -> None:
        await self._in_turn()
        await self._opened()
        with _refusing():
            for decision in self._engine.close():
                self._carry_out(decision)

    # --- an operator ----------------------------------------------------------------------------------------

    async def _retry(self, executors: Sequence[Any]) -> list[str]:
        # As `_in_turn`, by a timer: that is what histories of earlier releases have.
        await workflow.sleep(timedelta(milliseconds=1))
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

    def _receive(
        self,
        responses: Sequence[wire.Response],
        *,
        whole: bool = False,
        state: Mapping[str, wire.Value] | None = None,
    ) -> int:
        self._tickets += 1
        self._facts.append(ResponsesReceived(self._tickets, tuple(responses), whole, state=state or {}))
        return self._tickets

    @workflow.query(name="status", description="State, superstep, and the head of the checkpoint lineage.")
    def _status(self) -> Any:
        return ordered_json(wire.dump(self._engine.status()))

    @workflow.query(name="pending_requests", description="Requests that wait for a response, in plain JSON.")
    def _pending_requests(self, offset: int = 0) -> Any:
        page = page_of_requests(self._engine.pending_requests(), offset)
        reminders = self._engine.reminders
        return ordered_json([wire.dump(readable_request(one, reminders(one.request_id))) for one in page])

    @workflow.query(name="requests", description="Requests that wait for a response, with their types kept.")
    def _requests(self, offset: int = 0) -> Any:
        return ordered_json(
            [wire.dump(request) for request in page_of_requests(self._engine.pending_requests(), offset)]
        )

    @workflow.query(name="responses", description="Who answered or cancelled what, when; and what was refused.")
    def _responses(self, offset: int = 0) -> Any:
        return ordered_json(
            [wire.dump(readable_responded(record)) for record in page_of_records(self._engine.answered, offset)]
        )

    @workflow.query(name="recorded_responses", description="The same as `responses`, with types kept.")
    def _recorded_responses(self, offset: int = 0) -> Any:
        return ordered_json([wire.dump(record) for record in page_of_records(self._engine.answered, offset)])

    @workflow.query(name="outputs", description="The outputs so far, in plain JSON.")
    def _outputs(self, offset: int = 0) -> Any:
        return ordered_json(page_of_outputs(self._engine.journal.outputs, offset))

    @workflow.query(name="graph", description="The graph, with where the run stands in it.")
    def _graph(self) -> Any:
        return ordered_json(wire.dump(self._engine.progress()))

    @workflow.query(name="checkpoints", description="The checkpoint lineage, oldest first.")
    def _checkpoints(self) -> Any:
        return ordered_json([wire.dump(header) for header in self._engine.lineage.headers])

    @workflow.query(name="events", description="Events from an offset on, in pages.")
    def _events(self, offset: int = 0) -> Any:
        page = self._engine.journal.page(offset, ended=self._engine.phase is Phase.ENDED)
        return ordered_json(wire.dump(page))


def _has_kwargs(given: wire.SessionInput) -> bool:
    return given.function_invocation_kwargs is not None or given.client_kwargs is not None


@contextlib.contextmanager
def _refusing() -> Generator[None, None, None]:
    """Answer an update that a session cannot take now with the reason."""
    try:
        yield
    except SessionRefused as refused:
        raise ApplicationError(str(refused), type=SESSION_REFUSED, non_retryable=True) from None


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
