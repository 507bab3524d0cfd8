"""The figures against the goals: as a table for people, as JSON for everything else. Measures nothing."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.driver import Figures
from bench.sides import Side

TIME_GOAL = 1.15
"""A chain by MAF takes at most this many times what the hand-written one takes."""

MEMORY_GOAL = 1.3
"""Its worker process has at most this many times the peak memory."""

_PACKAGES = ("temporalio", "agent-framework-core", "obstore", "pydantic", "msgspec")
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Goal:
    """A ratio, MAF's figure by the hand-written one's, and the most it should be."""

    name: str
    ratio: float
    limit: float

    @property
    def passed(self) -> bool:
        return self.ratio <= self.limit


def goals(figures: dict[Side, Figures]) -> list[Goal]:
    """Returns the goals, with what was reached."""
    maf, by_hand = figures["maf"], figures["hand-written"]
    return [
        Goal("time", maf.median_ms / by_hand.median_ms, TIME_GOAL),
        Goal("memory", maf.peak_memory_bytes / by_hand.peak_memory_bytes, MEMORY_GOAL),
    ]


def as_json(figures: dict[Side, Figures], steps: int, rounds: int) -> dict[str, Any]:
    """Returns all figures: milliseconds, counts and bytes."""
    return {
        "executors": steps,
        "rounds": rounds,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in _PACKAGES},
        "sides": {side: _side_as_json(one, steps) for side, one in figures.items()},
        "goals": {
            goal.name: {"ratio": round(goal.ratio, 3), "limit": goal.limit, "passed": goal.passed}
            for goal in goals(figures)
        },
    }


def _side_as_json(figures: Figures, steps: int) -> dict[str, Any]:
    return {
        "median_ms_per_run": round(figures.median_ms, 1),
        "median_ms_per_step": round(figures.median_ms / steps, 2),
        "ms_of_runs": [round(one, 1) for one in figures.run_ms],
        "history_events": figures.history_events,
        "history_bytes": figures.history_bytes,
        "peak_memory_bytes": figures.peak_memory_bytes,
    }


def show(console: Console, figures: dict[Side, Figures], steps: int, rounds: int) -> None:
    """Prints the table, and for each goal whether it was reached."""
    maf, by_hand = figures["maf"], figures["hand-written"]
    table = Table(title=f"{steps} steps in a chain, median of {rounds} runs each")
    table.add_column("")
    for heading in ("hand-written", "MAF, checkpoints", "ratio"):
        table.add_column(heading, justify="right")
    _row(table, "ms per run", by_hand.median_ms, maf.median_ms, ",.0f")
    _row(table, "ms per step", by_hand.median_ms / steps, maf.median_ms / steps, ",.1f")
    _row(table, "history events", by_hand.history_events, maf.history_events, ",d")
    _row(table, "history bytes", by_hand.history_bytes, maf.history_bytes, ",d")
    _row(table, "peak memory, MiB", by_hand.peak_memory_bytes / _MIB, maf.peak_memory_bytes / _MIB, ",.1f")
    console.print(table)
    for goal in goals(figures):
        verdict = "[green]PASS[/]" if goal.passed else "[red]MISSED[/]"
        console.print(f"{verdict} {goal.name}: ratio {goal.ratio:.3f}, goal at most {goal.limit}")


def _row(table: Table, name: str, by_hand: float, maf: float, form: str) -> None:
    table.add_row(name, format(by_hand, form), format(maf, form), f"{maf / by_hand:.2f}")
