"""A fixed sample of generated cases, for tests that are too slow to draw them by the hundred."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, settings

from temporal_adapter.testing import Observed

from .reference import reference
from .spec import Graph, Play
from .strategies import cases

_DRAWN = 25  # cases of a shape, of which the sample takes the first lively ones
_SETTINGS = settings(
    derandomize=True, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
_LIVELY = range(3, 40)  # deliveries


async def sample(shape: str, count: int) -> list[tuple[Graph, Play, Observed]]:
    """Return the same cases of a shape each time, each with what MAF's own runner does; their graphs have own names."""
    drawn: dict[str, tuple[Graph, Play]] = {}

    @settings(_SETTINGS, max_examples=_DRAWN)
    @given(case=cases(shape))
    def draw(case: tuple[Graph, Play]) -> None:
        drawn[repr(case)] = case

    draw()
    taken: list[tuple[Graph, Play, Observed]] = []
    for drawn_graph, play in drawn.values():
        if len(taken) == count:
            break
        graph = replace(drawn_graph, name=f"{shape} {len(taken)}")
        seen = await reference(graph, play)
        if sum(event.type == "executor_invoked" for event in seen.events) in _LIVELY:
            taken.append((graph, play, seen))
    return taken
