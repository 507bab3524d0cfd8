"""What callers give a session, turn by turn, by MAF's rules for `Workflow.run`: inputs, responses, checkpoints."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.activity_errors import as_application_error, failure_of, migrates
    from temporal_adapter.continuation import continues
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.engine import Phase, SessionRefused
    from temporal_adapter.wire.names import RESPONSE_REFUSED, SESSION_REFUSED

    from .people import People

_TURNS_TOLD = 16  # as many callers may ask for their turns


class Sessions(People):
    """A run that may be a session."""

    async def _opened(self) -> None:
        """Wait for a message's turn, and until a session does that goes on from a checkpoint or as a new Temporal run.

        Its caller cannot know when that is.
        """
        is_open = await self._in_turn(self._is_open)
        if not (is_open and self._calls.in_history):
            await workflow.wait_condition(self._is_open)

    def _is_open(self) -> bool:
        engine = self._engine
        return engine.entered and (engine.phase is not Phase.SEEDING or self._turn is not None)

    @workflow.update(name="run", description="Give a session an input, responses, or a checkpoint to go on from.")
    async def _run_update(self, data: Any = None, *more: Any) -> Any:
        self._look()
        given = wire.parse_session_input(data, *more)
        await self._opened()
        update = workflow.current_update_info()
        assert update is not None
        if update.id in self._turn_progress:  # it was sent to an earlier Temporal run of the session
            return await self._end_of_turn(update.id)
        first = self._engine.journal.length
        with _refusing():
            self._begin_turn(given)
        self._turn = update.id
        self._tell_progress(
            update.id, wire.TurnProgress(first=first, live=0 if self._stream is None else self._stream.offset)
        )
        self._streams = given.stream or self._streams_by_default
        if given.responses is not None and given.checkpoint_id is None:
            await self._respond_in_turn(given, given.responses)
        return await self._end_of_turn(update.id)

    @workflow.update(name="follow", description="Wait for a turn that goes on in a new Temporal run; by its update id.")
    async def _follow_update(self, update_id: str = "") -> Any:
        await self._opened()
        if update_id not in self._turn_progress:
            raise ApplicationError(
                f"The session knows no turn of an update {update_id!r}; it knows the last {_TURNS_TOLD}.",
                type=SESSION_REFUSED,
                non_retryable=True,
            )
        return await self._end_of_turn(update_id)

    async def _end_of_turn(self, update_id: str) -> Any:
        """Wait until a turn is over, or goes on in a new Temporal run; return the answer to its caller."""
        ended = (Phase.ENDING, Phase.ENDED)
        await workflow.wait_condition(
            lambda: self._turn != update_id or self._engine.phase in ended or self._released_turn == update_id
        )
        journal, progress = self._engine.journal, self._turn_progress[update_id]
        released = self._released_turn == update_id
        if progress.next is None and released and not self._engine.held:  # its input was not taken in
            self._turn, self._streams = None, self._streams_by_default
            del self._turn_progress[update_id]
            raise continues()
        if progress.next is None and self._engine.phase in ended:
            self._turn_progress[update_id] = wire.replace(progress, next=journal.length)
            raise ApplicationError("The session has ended.", type=SESSION_REFUSED, non_retryable=True)
        if progress.failure is not None:
            raise as_application_error(progress.failure, non_retryable=True)
        return ordered_json(
            wire.dump(
                wire.Turn(
                    first=progress.first,
                    next=journal.length if progress.next is None else progress.next,
                    state=progress.state or journal.state,
                    continues=progress.next is None,
                )
            )
        )

    def _tell_progress(self, update_id: str, progress: wire.TurnProgress) -> None:
        """Note where a turn begins."""
        known = self._turn_progress
        known[update_id] = progress
        if len(known) > _TURNS_TOLD:
            del known[next(iter(known))]

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
            given_now = [wire.Response(request_id=one, response=it) for one, it in responses.items()]
            ticket = self._receive(given_now, whole=len(responses) > 1, state=state)
            await self._answered(self._expected(ticket))
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
            result = await self._calls.despite_trouble("A response", self._calls.own("kwargs", data))
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            if migrates(error):
                await self._await_migration(error)
                raise continues() from error
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
        await self._once(self._reset)

    async def _reset(self) -> None:
        await self._opened()
        with _refusing():
            for decision in self._engine.reset():
                self._carry_out(decision)

    @workflow.update(name="close", description="End a session at rest.")
    async def _close_update(self) -> None:
        await self._once(self._close)

    async def _close(self) -> None:
        await self._opened()
        with _refusing():
            for decision in self._engine.close():
                self._carry_out(decision)


def _has_kwargs(given: wire.SessionInput) -> bool:
    return given.function_invocation_kwargs is not None or given.client_kwargs is not None


@contextlib.contextmanager
def _refusing() -> Generator[None, None, None]:
    """Answer an update that a session cannot take now with the reason."""
    try:
        yield
    except SessionRefused as refused:
        raise ApplicationError(str(refused), type=SESSION_REFUSED, non_retryable=True) from None
