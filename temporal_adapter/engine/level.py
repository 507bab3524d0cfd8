"""One level of a run: its own workflow, or a sub-workflow. What it knows, and the superstep under way.

Levels know nothing of checkpoints, responses from outside or activities. What a level changes it puts where it is told
to: the run's own workflow into the next checkpoint, a sub-workflow aside until the superstep around it is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

from .snapshot import Place, Section
from .superstep import Delivery, Superstep, changes_of, events_of, messages_of, route, routing_error
from .writes import Conflict, merge_writes

_SHOWN_TO_CALLER = ("output", "intermediate", "request_info")
_DELIVERED: tuple[Section, ...] = ("executors", "attributes")


@dataclass(frozen=True, slots=True)
class Caller:
    """The delivery that waits for a sub-workflow's run."""

    level: Level
    position: int

    @property
    def executor_id(self) -> str:
        """The executor that wraps the sub-workflow."""
        return self.level.under_way.deliveries[self.position].executor_id


@dataclass(frozen=True, slots=True)
class _Before:
    """What a superstep found and consumes."""

    messages: list[wire.RoutedMessage] = field(default_factory=list[wire.RoutedMessage])
    buffers: dict[str, list[wire.Message]] = field(default_factory=dict[str, list[wire.Message]])  # those it changed
    requests: dict[str, wire.Request] = field(default_factory=dict[str, wire.Request])


class Level:
    """A workflow of the nesting.

    Attributes:
        messages: In flight.
        buffers: Of fan-ins, in order of arrival.
        requests: Pending; in the run's own workflow also those answered in this superstep.
        shown: What a sub-workflow's run has for the executor around it: outputs and requests, in delivery order.
        caller: The delivery that a sub-workflow runs for.
        completed: How many deliveries each executor has completed.
    """

    def __init__(self, graph: wire.Graph, put: Callable[[Place, Any], None], path: tuple[str, ...] = ()) -> None:
        self.graph = graph
        self.path = path
        self.iteration = 0
        self.messages: list[wire.RoutedMessage] = []
        self.buffers: dict[str, list[wire.Message]] = {}
        self.requests: dict[str, wire.Request] = {}
        self.superstep: Superstep | None = None
        self.shown: list[wire.Event] = []
        self.caller: Caller | None = None
        self.children: dict[str, Level] = {}
        self.completed: Counter[str] = Counter()  # deliveries, by executor
        self._put = put
        self._path_text = path_text(path)
        self._before = _Before()

    def add_children(self, put: Callable[[Place, Any], None]) -> None:
        """Add the sub-workflows of the graph, at every depth."""
        for executor_id, graph in self.graph.children.items():
            child = self.children[executor_id] = Level(graph, put, (*self.path, executor_id))
            child.add_children(put)

    def with_children(self) -> Iterator[Level]:
        """Yield this level and all below, outermost first."""
        yield self
        for child in self.children.values():
            yield from child.with_children()

    def kept(self) -> wire.RestoredLevel:
        """Return what is to be restored to have this level again as it is, at rest."""
        return wire.RestoredLevel(iteration=self.iteration, buffers=dict(self.buffers), requests=dict(self.requests))

    def restore(self, kept: wire.RestoredLevel) -> None:
        """Take what a checkpoint holds of this level; it is in the snapshot already."""
        self.iteration = kept.iteration
        self.buffers = dict(kept.buffers)
        self.requests = dict(kept.requests)

    def carried(self) -> wire.CarriedLevel:
        """Return what this level knows between two supersteps of the run, beside the snapshot."""
        return wire.CarriedLevel(
            iteration=self.iteration,
            buffers=dict(self.buffers),
            requests=dict(self.requests),
            completed=dict(self.completed),
        )

    def go_on(self, carried: wire.CarriedLevel) -> None:
        """Go on where another Temporal run of the same run was."""
        self.restore(carried)
        self.completed.update(carried.completed)

    @property
    def under_way(self) -> Superstep:
        """The superstep under way, where there is one."""
        assert self.superstep is not None
        return self.superstep

    def put(self, section: Section, key: str, value: Any) -> None:
        """Change an entry of this level's part of the snapshot; None deletes it."""
        self._put((self._path_text, section, key), value)

    # --- a sub-workflow's run -------------------------------------------------------------------------------

    def call(self, caller: Caller, call: wire.Call) -> None:
        """Begin a run of this sub-workflow for a delivery of the executor around it."""
        self.caller, self.shown = caller, []
        if call.fresh:
            self.count_anew()
        for key, value in call.state.items():
            self.put("state", key, value)
        for routed in call.messages:
            if routed.message.request is not None:
                self.answered(routed.message.request.request_id)
        self.messages.extend(call.messages)

    def count_anew(self) -> None:
        """An input came: supersteps are counted from its arrival."""
        self._count(0)

    def answered(self, request_id: str) -> None:
        """A request is pending no more, nor is it if the superstep under way is undone."""
        self.requests.pop(request_id, None)
        self._before.requests.pop(request_id, None)
        self.put("requests", request_id, None)

    def abandon(self) -> None:
        """The run of this sub-workflow failed, and its caller handles that: nothing of it is in flight any more."""
        for level in self.with_children():
            level.messages, level.superstep = [], None
            if level is not self:
                level.caller, level.shown = None, []

    # --- supersteps -----------------------------------------------------------------------------------------

    def beyond_limit(self) -> wire.Failure | None:
        """Return MAF's error for a workflow that would run more supersteps than it may."""
        if self.iteration < self.graph.max_iterations:
            return None
        error_type, message = (
            "WorkflowConvergenceException",
            f"Runner did not converge after {self.graph.max_iterations} iterations.",
        )
        shown = message if self.graph.shows_error_messages else error_type  # as MAF's WorkflowErrorDetails does
        details = wire.ErrorDetails(error_type=error_type, message=shown)
        raised = wire.Raised(cls=f"agent_framework:{error_type}", args=[message])
        return wire.Failure(error_type=error_type, message=message, details=details, raised=raised)

    def open_superstep(self, key: str) -> Superstep | wire.Failure:
        """Turn the messages in flight into deliveries, each with a key that begins with the given one.

        Returns the error of a condition or selection function, where one raised: then nothing is changed.
        """
        error = routing_error(self.messages)
        if error is not None:
            return error
        routing = route(self.messages, self.buffers, self.graph.fan_ins)
        unchanged = {name: self.buffers.get(name, []) for name in routing.buffers}
        self._before = _Before(self.messages, unchanged, dict(self.requests))
        self._set_buffers(routing.buffers)
        self.messages = []
        self.superstep = Superstep(routing.deliveries, key)
        return self.superstep

    def open_cancellation(self, request_ids: Iterable[str], key: str) -> Superstep:
        """Take these requests for pending no more, and tell their executors: each of all that are its own."""
        found = dict(self.requests)
        by_executor: dict[str, list[str]] = {}
        for request_id in request_ids:
            if request_id in self.requests:
                by_executor.setdefault(self.requests[request_id].source_executor_id, []).append(request_id)
                self.answered(request_id)
        self._before = _Before(list(self.messages), {}, found)
        deliveries = [
            Delivery(executor, [], [], cancelled=cancelled)
            for executor, cancelled in by_executor.items()
            if executor in self.graph.executors  # as in MAF, else there is nobody to tell
        ]
        self.superstep = Superstep(deliveries, key, cancelling=True)
        return self.superstep

    def show(self, event: wire.Event) -> None:
        """Take an event of a delivery as soon as that has finished: a request is pending from then on."""
        if event.request is not None:
            self.requests[event.request.request_id] = event.request
            self.put("requests", event.request.request_id, event.request)

    def close_superstep(self, superstep: Superstep) -> tuple[list[wire.Event], list[Conflict]]:
        """Merge the outcomes of all deliveries, in delivery order; return their events, and writes that were lost."""
        events: list[wire.Event] = []
        written, conflicts = merge_writes(superstep)
        for key, value in written.items():
            self.put("state", key, value)
        for delivery, result in superstep.outcomes():
            self.completed[delivery.executor_id] += 1
            changes = changes_of(delivery.executor_id, result)
            for section in _DELIVERED:
                for key, value in getattr(changes, section).items():
                    self.put(section, key, value)
            self.messages.extend(messages_of(delivery.executor_id, result))
            events.extend(events_of(delivery, result))
        if self.caller is not None:
            self.shown.extend(event for event in events if event.type in _SHOWN_TO_CALLER)
        if not superstep.cancelling:
            self._count(self.iteration + 1)
        self.superstep = None
        return events, conflicts

    def undo_superstep(self) -> None:
        """Go back to what the superstep under way found."""
        self._set_buffers(self._before.buffers)
        for request_id in [one for one in self.requests if one not in self._before.requests]:
            self.put("requests", request_id, None)
        for request_id, request in self._before.requests.items():
            if request_id not in self.requests:  # it was to be cancelled
                self.put("requests", request_id, request)
        self.requests = dict(self._before.requests)
        self.messages = list(self._before.messages)
        self.superstep = None

    def unfilled_fan_ins(self) -> Iterator[str]:
        """Say of each fan-in that holds messages what it waits for."""
        for key, buffered in self.buffers.items():
            if not buffered:
                continue
            fan_in = self.graph.fan_ins[key]
            present = {message.source_id for message in buffered}
            missing = [source for source in fan_in.sources if source not in present]
            yield (
                f"Fan-in to executor {'/'.join((*self.path, fan_in.target))!r} never fired: {len(buffered)} "
                f"message(s) are buffered, and nothing came from {', '.join(map(repr, missing))}."
            )

    def _set_buffers(self, buffers: dict[str, list[wire.Message]]) -> None:
        for key, buffered in buffers.items():
            self.buffers[key] = buffered
            self.put("buffers", key, buffered or None)

    def _count(self, iteration: int) -> None:
        self.iteration = iteration
        if self.path:
            self._put((self._path_text, "iteration", ""), iteration)
