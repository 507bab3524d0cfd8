"""Shows MAF's events superstep by superstep: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from agent_framework import WorkflowEvent
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

Show = Callable[[WorkflowEvent[Any]], None]
"""Takes the next event."""

Progress = Callable[[Console], AbstractContextManager[Show]]
"""Opens a display on a console for as long as the block is open."""


@dataclass
class _Superstep:
    iteration: int
    executors: dict[str, str] = field(default_factory=dict[str, str])  # what each is doing, by id, in order of start
    said: dict[str, str] = field(default_factory=dict[str, str])  # intermediate outputs, by executor id
    completed: bool = False


_DOING = {"executor_invoked": "runs", "executor_completed": "done", "executor_failed": "failed"}


@contextmanager
def plain(console: Console) -> Iterator[Show]:
    """One line for each superstep, when it is complete."""
    supersteps: list[_Superstep] = []

    def show(event: WorkflowEvent[Any]) -> None:
        _take(supersteps, event)
        if event.type == "superstep_completed":
            last = supersteps[-1]
            doing = ", ".join(f"{executor_id} {doing}" for executor_id, doing in last.executors.items())
            _line(console, f"superstep {last.iteration}: {doing}")
            for executor_id, text in last.said.items():
                _line(console, f"    {executor_id} says: {text}")

    yield show


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def live(console: Console) -> Iterator[Show]:
    """A table that grows and changes while the run goes on."""
    supersteps: list[_Superstep] = []
    with Live(console=console, refresh_per_second=12) as display:

        def show(event: WorkflowEvent[Any]) -> None:
            _take(supersteps, event)
            display.update(_table(supersteps))

        yield show


def _take(supersteps: list[_Superstep], event: WorkflowEvent[Any]) -> None:
    if event.type == "superstep_started":
        supersteps.append(_Superstep(event.iteration or 0))
    elif not supersteps:
        return
    elif event.type == "superstep_completed":
        supersteps[-1].completed = True
    elif event.type == "request_info" and event.source_executor_id is not None:
        supersteps[-1].executors[event.source_executor_id] = "asks"
    elif event.type == "intermediate" and event.executor_id is not None:
        supersteps[-1].said[event.executor_id] = str(event.data)  # of an agent's response, its text
    elif event.type in _DOING and event.executor_id is not None:
        doing = supersteps[-1].executors
        # An executor that asks completes right after; that it asks is what matters.
        doing[event.executor_id] = "asks" if doing.get(event.executor_id) == "asks" else _DOING[event.type]


def _table(supersteps: list[_Superstep]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("superstep", justify="right")
    table.add_column("executors")
    table.add_column("")
    for step in supersteps:
        doing = "  ".join(_styled(executor_id, doing) for executor_id, doing in step.executors.items())
        mark = "[green]complete" if step.completed else Spinner("dots")
        table.add_row(str(step.iteration), doing, mark)
        for executor_id, text in step.said.items():
            table.add_row("", Text(f"{executor_id} says: {text}", style="dim"))
    return table


_STYLES = {"done": "green", "asks": "yellow", "runs": "cyan", "failed": "red"}


def _styled(executor_id: str, doing: str) -> str:
    return f"[bold]{executor_id}[/] [{_STYLES[doing]}]{doing}[/]"
