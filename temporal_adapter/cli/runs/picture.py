"""What `watch` draws at a terminal: a run's progress, its graph with the state of each executor, what it waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from temporal_adapter import wire
from temporal_adapter.cli import output

from .snapshot import Snapshot

_STYLES = {"idle": "dim", "running": "bold cyan", "waiting": "bold yellow", "failed": "bold red", "completed": "green"}
_BAR = 30  # columns
_OUTPUTS = 5  # the last so many


def picture(shown: Snapshot, *, full: bool = False) -> RenderableType:
    """Return a run as a terminal shows it; with long values whole, or cut."""
    parts: list[RenderableType] = [_heading(shown)]
    if shown.graph is not None:
        parts += [_progress(shown.graph), Text(), _graph(shown.graph)]
    if shown.status is not None:
        parts += [_failed(one) for one in shown.status.failed_executors]
    if shown.requests:
        parts += [Text(), Text("Waits for a response to"), _requests(shown.requests, full)]
    if shown.outputs:
        parts += [Text(), *_outputs(shown.outputs, full)]
    if shown.unanswered is not None:
        parts.append(Text(output.printable(shown.unanswered), "bold yellow"))
    return Group(*parts)


def _heading(shown: Snapshot) -> Text:
    about, iteration = shown.one.description, 0 if shown.status is None else shown.status.iteration
    heading = Text.assemble(output.name(about.id, "bold"), output.name(f" ({about.workflow_type})"))
    heading.append_text(output.name(f"  {shown.state}  superstep {iteration}  {output.age(shown.elapsed)}"))
    return heading


def _progress(graph: wire.GraphProgress) -> RenderableType:
    worked = sum(one.deliveries > 0 for one in graph.executors)
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_row(
        ProgressBar(total=max(1, len(graph.executors)), completed=worked, width=_BAR),
        Text(f"{worked} of {len(graph.executors)} executors have worked"),
    )
    return row


def _graph(graph: wire.GraphProgress) -> Table:
    table = output.table("EXECUTOR", "STATE", "DELIVERIES", "PENDING", "SENDS TO")
    for depth, level, one in _rows(graph, 0):
        table.add_row(
            output.name("  " * depth + one.executor_id, "bold" if one.state == "running" else ""),
            Text(one.state, _STYLES[one.state]),
            str(one.deliveries),
            str(one.pending_requests or ""),
            _targets(level, one.executor_id),
        )
    return table


def _rows(graph: wire.GraphProgress, depth: int) -> Iterator[tuple[int, wire.GraphProgress, wire.ExecutorProgress]]:
    """Yield executors in the order in which the graph reaches them, those of a sub-workflow below its own."""
    by_id = {one.executor_id: one for one in graph.executors}
    for executor_id in _reached(graph, by_id):
        one = by_id[executor_id]
        yield depth, graph, one
        if one.workflow is not None:
            yield from _rows(one.workflow, depth + 1)


def _reached(graph: wire.GraphProgress, known: Iterable[str]) -> list[str]:
    order = dict.fromkeys([graph.start_executor_id])
    waiting = [graph.start_executor_id]
    while waiting:
        source = waiting.pop(0)
        targets = [edge.target for edge in graph.edges if edge.source == source and edge.target not in order]
        order.update(dict.fromkeys(targets))
        waiting += targets
    return [one for one in dict.fromkeys([*order, *known]) if one in set(known)]


def _targets(graph: wire.GraphProgress, executor_id: str) -> Text:
    edges = [edge for edge in graph.edges if edge.source == executor_id]
    named = [edge.target if edge.condition is None else f"{edge.target} if {edge.condition}" for edge in edges]
    return output.name(", ".join(dict.fromkeys(named))) if named else Text("")


def _failed(failed: wire.FailedExecutor) -> Text:
    return Text(
        output.printable(f"{failed.executor} failed and waits for an operator: {failed.error_type}: {failed.message}"),
        "bold red",
    )


def _requests(requests: Iterable[wire.PendingRequest], full: bool) -> Table:
    table = output.table("REQUEST", "EXECUTOR", "RESPONSE TYPE", "DATA")
    for one in requests:
        table.add_row(
            output.name(one.request_id, "bold"),
            output.name(one.executor_id),
            output.name(one.response_type),
            output.value(one.data, full=full),
        )
    return table


def _outputs(outputs: list[object], full: bool) -> Iterator[Text]:
    if len(outputs) > _OUTPUTS:
        yield Text(f"{len(outputs) - _OUTPUTS} outputs before")
    for one in outputs[-_OUTPUTS:]:
        yield Text.assemble(("output", "bold"), f" {output.value(one, full=full)}")
