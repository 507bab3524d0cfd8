"""Replaying histories against this release, many at a time, on Temporal's own replayer.

Neither server, nor worker, nor graph is needed, nor MAF: the workflow is the adapter's. Where histories come from, and
how what they come to is shown, is not decided here.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.worker import Plugin, Replayer
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import NondeterminismError

from temporal_adapter.histories import activity_types, shows_ours
from temporal_adapter.sandbox import let_through
from temporal_adapter.wire.names import NOT_REGISTERED
from temporal_adapter.workflow import workflow_type

from .explaining import first_divergence, temporal_words
from .lane import Lane
from .reading import DamagedHistory, check_whole, read_history
from .verdicts import Replayed
from .watching import Trace, WatchedRunner

AT_ONCE = 4
"""How many histories are replayed at a time, unless told otherwise."""

# The SDK's word for a workflow task of more than 2 s, which a busy machine can make of any.
_DEADLOCK = "TMPRL1101"

# How long a history may be replayed, on a machine that has other things to do too.
_PATIENCE_SECONDS, _PATIENCE_PER_EVENT = 30.0, 0.02

_ENCODINGS = ("binary/null", "binary/plain", "json/protobuf", "binary/protobuf", "json/plain")


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """A history in a file, read when its turn comes."""

    path: str


Source = WorkflowHistory | HistoryFile
"""A history to replay."""


@dataclass(frozen=True)
class Release:
    """What histories are held against: this release, as a worker of it would run them.

    Attributes:
        plugins: The workers' plugins, such as their `AgentFrameworkPlugin`. Without any, each history is replayed with
            the adapter's workflow of its name, which needs neither MAF nor graph.
        workflows: The workers' own workflow classes, beside the adapter's.
        data_converter: Of the workers' client; its payload codec reads histories that are encrypted.
        options: Further ones of Temporal's `Replayer`.
    """

    plugins: Sequence[Plugin] = ()
    workflows: Sequence[type] = ()
    data_converter: DataConverter = DataConverter.default
    options: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])


async def replay(
    histories: Iterable[Source] | AsyncIterable[Source],
    release: Release | None = None,
    *,
    at_once: int = AT_ONCE,
    on_replayed: Callable[[Replayed], None] | None = None,
) -> list[Replayed]:
    """Replay histories; say of each, in their order, what it came to. What one comes to does not stop the others.

    Args:
        histories: To replay.
        release: What they are held against; by default the adapter's workflows alone.
        at_once: So many at a time.
        on_replayed: Called with each as it is done, in whichever order.
    """
    results: dict[int, Replayed] = {}
    numbered, turn = _numbered(histories), asyncio.Lock()
    threads = ThreadPoolExecutor(thread_name_prefix="replay")
    common = _common(release or Release(), threads)

    async def work() -> None:
        replaying = _Replaying(common)
        try:
            while True:
                async with turn:  # an async generator gives one at a time
                    number, source = await anext(numbered)
                results[number] = await replaying.replayed(source)
                if on_replayed is not None:
                    on_replayed(results[number])
        except StopAsyncIteration:
            pass
        finally:
            replaying.close()

    workers = [asyncio.ensure_future(work()) for _ in range(max(1, at_once))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        threads.shutdown(wait=False)
    return [results[number] for number in sorted(results)]


async def _numbered(
    histories: Iterable[Source] | AsyncIterable[Source],
) -> AsyncGenerator[tuple[int, Source], None]:
    number = 0
    if isinstance(histories, AsyncIterable):
        async for one in histories:
            yield number, one
            number += 1
    else:
        for number, one in enumerate(histories):
            yield number, one


@functools.cache
def _quiet_runtime() -> Runtime:
    """Return a runtime that does not write each failed replay to the standard output: its caller is told."""
    silent = LoggingConfig(TelemetryFilter(core_level="OFF", other_level="OFF"))
    return Runtime(telemetry=TelemetryConfig(logging=silent))


@dataclass(frozen=True)
class _Common:
    """What replays of a release have in common: options of the replayer, and the workflows that it is given."""

    release: Release
    options: dict[str, Any]
    known: frozenset[str | None]


def _common(release: Release, threads: ThreadPoolExecutor) -> _Common:
    options: dict[str, Any] = {
        "workflow_task_executor": threads,
        "workflow_runner": let_through(SandboxedWorkflowRunner()),  # as workers with the plugin have it
        "data_converter": release.data_converter,
        "runtime": _quiet_runtime(),
        "plugins": release.plugins,
        **release.options,
    }
    if not release.plugins and not release.workflows:
        return _Common(release, options, frozenset())
    registered = Replayer(workflows=release.workflows, **options).config(active_config=True).get("workflows", [])
    return _Common(release, options, frozenset(_name_of(one) for one in registered))


class _Replaying:
    """Replays one history after another."""

    def __init__(self, common: _Common) -> None:
        self._release, self._options, self._known = common.release, common.options, common.known
        self._lane: Lane | None = None  # until there is something to replay

    def close(self) -> None:
        """End what histories were replayed in."""
        if self._lane is not None:
            self._lane.close()

    async def replayed(self, source: Source) -> Replayed:
        """Replay a history and say what it came to."""
        if not isinstance(source, HistoryFile):
            return await self._checked(source, source.workflow_id)
        try:
            history = read_history(source.path)
        except DamagedHistory as error:
            return Replayed(Path(source.path).name, "", "", 0, 0.0, "unreadable", source.path, reason=str(error))
        return replace(await self._checked(history, source.path), source=source.path)

    async def _checked(self, history: WorkflowHistory, name: str) -> Replayed:
        try:
            check_whole(history.events, name)
        except DamagedHistory as error:
            return Replayed(history.workflow_id, "", "", len(history.events), 0.0, "unreadable", reason=str(error))
        began = time.monotonic()
        replayed = await self._judged(history)
        return replace(replayed, seconds=time.monotonic() - began)

    async def _judged(self, history: WorkflowHistory) -> Replayed:
        started = history.events[0].workflow_execution_started_event_attributes
        name = started.workflow_type.name
        verdict = Replayed(history.workflow_id, _run_id(history), name, len(history.events), 0.0, "replays")
        ours, known = shows_ours(name, history.events), not self._known.isdisjoint({name, None})
        foreign = replace(verdict, outcome="foreign", reason=_foreign(name))
        if not known and not ours and any(activity_types(history.events)):
            return foreign
        classes = [*self._release.workflows, *([] if known or self._release.plugins else [workflow_type(name)])]
        failure = await self._failure(_without_time_out(history), classes)
        if failure is None:
            return verdict
        if not known and not ours:
            return foreign
        said = temporal_words(failure)
        if NOT_REGISTERED in said:
            return replace(verdict, outcome="fails", reason=f"this release has no workflow {name!r}", temporal=said)
        verdict = replace(verdict, reason=said, temporal=said)
        if isinstance(failure, TimeoutError):
            return replace(verdict, outcome="fails")
        return await self._explained(history, classes, verdict, failure)

    async def _failure(self, history: WorkflowHistory, classes: Sequence[type], **options: Any) -> BaseException | None:
        """Replay a history; return why it does not replay, or None."""
        patience = _PATIENCE_SECONDS + len(history.events) * _PATIENCE_PER_EVENT
        try:
            self._lane = self._lane or Lane()
            failure = await self._lane.run(self._replay(history, classes, options), patience)
        except asyncio.TimeoutError:
            self._lane = None
            return TimeoutError(f"its replay does not end: Temporal's replayer has been at it for {patience:.0f} s")
        except Exception as error:  # of a payload codec, for one
            return error
        if failure is not None and _DEADLOCK in str(failure) and not options:
            return await self._failure(history, classes, debug_mode=True)  # which gives it all the time it wants
        return failure

    async def _replay(
        self, history: WorkflowHistory, classes: Sequence[type], options: Mapping[str, Any]
    ) -> BaseException | None:
        replayer = Replayer(workflows=classes, **{**self._options, **options})
        return (await replayer.replay_workflow(history, raise_on_replay_failure=False)).replay_failure

    async def _explained(
        self, history: WorkflowHistory, classes: Sequence[type], verdict: Replayed, failure: BaseException
    ) -> Replayed:
        """Replay a history once more, to see where it goes wrong."""
        trace = Trace()
        again = await self._failure(history, classes, workflow_runner=WatchedRunner(trace))
        if trace.error is not None and (unknown := _unknown_encoding(history)) is not None:
            reason = f"its payloads are encoded as {unknown!r}, which takes the payload codec of the run's client"
            return replace(verdict, outcome="fails", reason=reason)
        if trace.error is not None:
            reason = f"this release raises an error when it replays event {trace.length}: {trace.error}"
            return replace(verdict, outcome="fails", reason=reason)
        if again is None or not isinstance(failure, NondeterminismError):  # of the sandbox, or a codec
            return replace(verdict, outcome="fails")
        codec = self._release.data_converter.payload_codec
        found = await first_divergence(history.events, trace, verdict.temporal, codec)
        return replace(verdict, outcome="diverges", reason=found.text, divergence=found)


def _name_of(workflow_class: type) -> str | None:
    """Return a workflow class's name at Temporal; None for one that takes any."""
    return getattr(getattr(workflow_class, "__temporal_workflow_definition", None), "name", None)


def _run_id(history: WorkflowHistory) -> str:
    """Return the id of a history's run: of one that Temporal's reset made of an earlier run, the new one's."""
    run_id = history.events[0].workflow_execution_started_event_attributes.original_execution_run_id
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            run_id = event.workflow_task_failed_event_attributes.new_run_id or run_id
    return run_id


def _without_time_out(history: WorkflowHistory) -> WorkflowHistory:
    """Return a history without the end of a run that timed out: Temporal's core takes none within a workflow task."""
    last = history.events[-1].event_type
    timed_out = last == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT
    return WorkflowHistory(history.workflow_id, history.events[:-1]) if timed_out else history


def _unknown_encoding(history: WorkflowHistory) -> str | None:
    """Return the encoding of a run's arguments, where it is none of Temporal's own."""
    for payload in history.events[0].workflow_execution_started_event_attributes.input.payloads:
        encoding = payload.metadata.get("encoding", b"").decode(errors="replace")
        if encoding not in _ENCODINGS:
            return encoding
    return None


def _foreign(name: str) -> str:
    return f"workflow {name!r} is none of the adapter's, and was not replayed: its history has no activity of it"
