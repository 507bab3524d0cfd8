"""A scripted graph: executors as pure functions of what they are given, and routing as a pure function of a message.

Everything an executor does follows from a seed and from its input, the state it sees and its own state, so that any
wrong snapshot shows in what it does next. Nothing here knows the engine or the order in which things run.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from temporal_adapter import wire

START = "e0"


@dataclass(frozen=True)
class Group:
    """An edge group of a source: to targets, or into a fan-in."""

    targets: tuple[str, ...] = ()
    fan_in: str | None = None


@dataclass(frozen=True)
class Ask:
    request_id: str
    data: Any


@dataclass(frozen=True)
class Send:
    data: Any
    target_id: str | None = None


@dataclass
class Doing:
    """What an executor does with one delivery."""

    fails: bool = False
    sends: list[Send] = field(default_factory=list)
    writes: dict[str, Any] = field(default_factory=dict)  # None deletes
    memory: Any = None  # the executor's state after
    asks: list[Ask] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Script:
    """A graph and how lively its executors are."""

    seed: int
    groups: dict[str, tuple[Group, ...]]
    fan_ins: dict[str, wire.FanIn]
    max_iterations: int = 20
    hops: int = 3  # how many times the input may be sent on: what bounds a run
    pads: tuple[int, ...] = (0,)  # bytes of ballast in values
    failing: float = 0.0
    asking: float = 0.0
    routing_errors: float = 0.0

    @property
    def graph(self) -> wire.Graph:
        return wire.Graph(
            name="scripted",
            signature="signature",
            start_executor_id=START,
            executors=list(self.groups),
            max_iterations=self.max_iterations,
            fan_ins=self.fan_ins,
        )

    def keeps_attributes(self, executor: str) -> bool:
        """Every other executor has no hooks: its state travels as attributes."""
        return int(executor[1:]) % 2 == 1

    def do(self, executor: str, batch: list[Any], state: dict[str, Any], memory: Any) -> Doing:
        dice = self._dice(executor, batch, sorted(state.items()), memory)
        turn = 0 if memory is None else memory["turn"]
        hops = max(data["hops"] for data in batch)
        doing = Doing(memory={"turn": turn + 1, "pad": self._pad(dice)})
        if dice.random() < self.failing:
            doing.fails = True
            return doing
        if hops > 0:
            for number in range(dice.choice((0, 1, 1, 1, 1, 2))):
                doing.sends.append(self._send(dice, executor, f"{executor}.{turn}.{number}", hops - 1))
            if dice.random() < self.asking:
                request_id = f"{executor}.{turn}"
                doing.asks.append(Ask(request_id, {"hops": hops - 1, "pad": self._pad(dice)}))
        for key in dice.sample("abcdef", dice.randrange(3)):
            doing.writes[key] = {"by": executor, "turn": turn, "pad": self._pad(dice)}
        deletable = sorted(set(state) - set(doing.writes))
        if deletable and dice.random() < 0.3:
            doing.writes[dice.choice(deletable)] = None
        if dice.random() < 0.3:
            doing.outputs.append({"from": executor, "turn": turn})
        return doing

    def _send(self, dice: Random, executor: str, name: str, hops: int) -> Send:
        targets = [target for group in self.groups[executor] for target in self._reach(group)]
        target_id = dice.choice(targets) if targets and dice.random() < 0.2 else None
        return Send({"name": name, "hops": hops, "pad": self._pad(dice)}, target_id)

    def _reach(self, group: Group) -> tuple[str, ...]:
        return group.targets if group.fan_in is None else (self.fan_ins[group.fan_in].target,)

    def route(self, source: str, send: Send) -> list[wire.Route]:
        """Decide as a source's edge groups would: conditions look at the data only."""
        routes: list[wire.Route] = []
        for index, group in enumerate(self.groups[source]):
            dice = self._dice(source, index, send.data)
            if dice.random() < self.routing_errors:
                routes.append(wire.Route(group=index, error=failure("ConditionError", f"{source}/{index}")))
            elif group.fan_in is not None:
                if send.target_id in (None, self.fan_ins[group.fan_in].target):
                    routes.append(wire.Route(group=index, fan_in=group.fan_in))
            else:
                chosen = [one for one in group.targets if send.target_id in (None, one) and dice.random() < 0.8]
                if chosen:
                    routes.append(wire.Route(group=index, targets=chosen, source_ids=[source]))
        return routes

    def _pad(self, dice: Random) -> str:
        return "x" * dice.choice(self.pads)

    def _dice(self, *key: Any) -> Random:
        return Random(zlib.crc32(json.dumps([self.seed, *key], sort_keys=True).encode()))


def failure(error_type: str, message: str) -> wire.Failure:
    details = wire.ErrorDetails(error_type=error_type, message=message)
    return wire.Failure(error_type=error_type, message=message, details=details)


PADS = {"small": (0,), "large": (0, 100, 1500, 5000), "growing": (600, 900)}


@st.composite
def scripts(
    draw: st.DrawFn,
    *,
    pads: str | None = None,
    failing: float = 0.0,
    asking: float | None = None,
    routing_errors: float = 0.0,
    max_iterations: int = 30,
) -> Script:
    """Graphs of one to five executors with random edge groups and up to two fan-ins."""
    executors = [f"e{number}" for number in range(draw(st.integers(1, 5)))]
    some = st.lists(st.sampled_from(executors), min_size=1, max_size=2, unique=True).map(tuple)
    groups = {one: [Group(targets) for targets in draw(st.lists(some, max_size=2))] for one in executors}
    fan_ins: dict[str, wire.FanIn] = {}
    for number in range(draw(st.integers(0, 2))):
        sources = draw(some)
        fan_ins[f"fan{number}"] = wire.FanIn(sources=list(sources), target=draw(st.sampled_from(executors)))
        for source in sources:
            groups[source].insert(draw(st.integers(0, len(groups[source]))), Group(fan_in=f"fan{number}"))
    return Script(
        seed=draw(st.integers(0, 10_000)),
        groups={one: tuple(some) for one, some in groups.items()},
        fan_ins=fan_ins,
        max_iterations=max_iterations,
        hops=draw(st.integers(1, 3)),
        pads=PADS[pads or draw(st.sampled_from(sorted(PADS)))],
        failing=failing,
        asking=draw(st.sampled_from((0.0, 0.3, 0.7))) if asking is None else asking,
        routing_errors=routing_errors,
    )
