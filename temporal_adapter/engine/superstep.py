"""One superstep: which deliveries the messages in flight make, in which order they run, and what they leave.

Order (design, section 3): by source in order of first send, then by edge group, then by message. Different executors
run at the same time; one executor handles its deliveries one after another, each seeing what the one before it left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from temporal_adapter import wire


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message, or one fan-in batch, for one executor; or requests of it that are cancelled, and no message."""

    executor_id: str
    source_ids: list[str]
    messages: list[wire.Message]
    fan_in: str | None = None
    cancelled: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Routing:
    """What became of the messages in flight."""

    deliveries: list[Delivery] = field(default_factory=list[Delivery])
    buffers: dict[str, list[wire.Message]] = field(default_factory=dict[str, list[wire.Message]])  # changed ones


def by_source(messages: list[wire.RoutedMessage]) -> dict[str, list[wire.RoutedMessage]]:
    """Group messages by source, in order of first send."""
    grouped: dict[str, list[wire.RoutedMessage]] = {}
    for routed in messages:
        grouped.setdefault(routed.message.source_id, []).append(routed)
    return grouped


def routing_error(messages: list[wire.RoutedMessage]) -> wire.Failure | None:
    """Return the first error that a condition or selection function raised, in delivery order."""
    return next((route.error for _, route in _in_delivery_order(messages) if route.error is not None), None)


def route(
    messages: list[wire.RoutedMessage], buffers: Mapping[str, list[wire.Message]], fan_ins: Mapping[str, wire.FanIn]
) -> Routing:
    """Turn the messages in flight into deliveries, firing each fan-in at the first moment it is complete."""
    routing = Routing()
    for message, decided in _in_delivery_order(messages):
        if decided.fan_in is not None:
            _buffer(message, decided.fan_in, fan_ins[decided.fan_in], buffers, routing)
        for target in decided.targets:
            routing.deliveries.append(Delivery(target, list(decided.source_ids), [message]))
    return routing


def _in_delivery_order(messages: list[wire.RoutedMessage]) -> Iterator[tuple[wire.Message, wire.Route]]:
    for routed in by_source(messages).values():
        groups = sorted({decided.group for one in routed for decided in one.routes})
        for group in groups:
            for one in routed:
                yield from ((one.message, decided) for decided in one.routes if decided.group == group)


def _buffer(
    message: wire.Message,
    key: str,
    fan_in: wire.FanIn,
    buffers: Mapping[str, list[wire.Message]],
    routing: Routing,
) -> None:
    buffered = [*routing.buffers.get(key, buffers.get(key, [])), message]
    present = {one.source_id for one in buffered}
    if all(source in present for source in fan_in.sources):
        routing.deliveries.append(Delivery(fan_in.target, list(fan_in.sources), buffered, fan_in=key))
        buffered = []
    routing.buffers[key] = buffered


class Superstep:
    """The deliveries of a superstep under way. Positions count from 0 in delivery order.

    Attributes:
        key: Names the superstep, after a resume as before.
        cancelling: Whether it tells executors of cancelled requests: before the next superstep, and counted as none.
        nested: What deliveries to executors that wrap sub-workflows are told of these, by position.
    """

    def __init__(self, deliveries: list[Delivery], key: str = "", *, cancelling: bool = False) -> None:
        self.deliveries = deliveries
        self.key = key
        self.cancelling = cancelling
        self.results: dict[int, wire.DeliveryResult] = {}
        self.nested: dict[int, wire.Nested] = {}
        self._waiting: dict[str, list[int]] = {}
        for position, delivery in enumerate(deliveries):
            self._waiting.setdefault(delivery.executor_id, []).append(position)

    @property
    def untouched(self) -> bool:
        """Whether nothing of it has happened yet, as far as is recorded."""
        return not self.results and not any(nested.runs for nested in self.nested.values())

    def key_of(self, position: int) -> str:
        """Return the key of a delivery."""
        return f"{self.key}/{position}"

    def first(self) -> list[int]:
        """Return the positions that run at once: the first delivery of each executor."""
        return sorted(positions.pop(0) for positions in self._waiting.values())

    def finish(self, position: int, result: wire.DeliveryResult) -> int | None:
        """Take a result; return the position that the same executor handles next, if any."""
        self.results[position] = result
        waiting = self._waiting[self.deliveries[position].executor_id]
        return waiting.pop(0) if waiting else None

    @property
    def finished(self) -> bool:
        """Whether every delivery has a result."""
        return len(self.results) == len(self.deliveries)

    @property
    def last_result(self) -> wire.DeliveryResult:
        """The result of the last delivery."""
        return self.results[len(self.deliveries) - 1]

    def outcomes(self) -> Iterator[tuple[Delivery, wire.DeliveryResult]]:
        """Yield deliveries and results in delivery order."""
        for position, delivery in enumerate(self.deliveries):
            yield delivery, self.results[position]

    def own_changes(self, executor_id: str) -> wire.Changes:
        """Return what an executor's earlier deliveries of this superstep changed."""
        state: dict[str, wire.Value | None] = {}
        executors: dict[str, wire.Value | None] = {}
        attributes: dict[str, wire.Value | None] = {}
        for position in sorted(self.results):
            if self.deliveries[position].executor_id == executor_id:
                changed = changes_of(executor_id, self.results[position])
                state.update(changed.state)
                executors.update(changed.executors)
                attributes.update(changed.attributes)
        return wire.Changes(state=state, executors=executors, attributes=attributes)


def changes_of(executor_id: str, result: wire.DeliveryResult) -> wire.Changes:
    """Return the snapshot entries that a delivery changed."""
    values = result.values
    return wire.Changes(
        state={key: None if index is None else values[index] for key, index in result.state.items()},
        executors={} if result.executor_state is None else {executor_id: values[result.executor_state]},
        attributes={} if result.attributes is None else {executor_id: values[result.attributes]},
    )


def messages_of(executor_id: str, result: wire.DeliveryResult) -> list[wire.RoutedMessage]:
    """Return the messages that a delivery sent, in order."""
    return [
        wire.RoutedMessage(
            message=wire.Message(
                source_id=executor_id,
                data=result.values[sent.data],
                target_id=sent.target_id,
                trace_contexts=sent.trace_contexts,
                source_span_ids=sent.source_span_ids,
            ),
            routes=sent.routes,
        )
        for sent in result.messages
    ]


def events_of(delivery: Delivery, result: wire.DeliveryResult) -> Iterator[wire.Event]:
    """Yield the events of a delivery; the input of `executor_invoked` is the delivery's own."""
    for event in result.events:
        if event.type == "executor_invoked" and event.origin == "FRAMEWORK":
            yield wire.replace(invoked(delivery), attempt=result.attempt)
        else:
            yield wire.Event(
                type=event.type,
                origin=event.origin,
                data=None if event.data is None else result.values[event.data],
                items=None if event.items is None else [result.values[index] for index in event.items],
                executor_id=event.executor_id,
                iteration=event.iteration,
                state=event.state,
                details=event.details,
                request=event.request,
            )


def invoked(delivery: Delivery) -> wire.Event:
    """Return the `executor_invoked` event of a delivery. A fan-in's payload is in edge order, as MAF aggregates it."""
    if delivery.fan_in is None:
        return wire.Event(type="executor_invoked", executor_id=delivery.executor_id, data=delivery.messages[0].data)
    items = [
        message.data for source in delivery.source_ids for message in delivery.messages if message.source_id == source
    ]
    return wire.Event(type="executor_invoked", executor_id=delivery.executor_id, items=items)
