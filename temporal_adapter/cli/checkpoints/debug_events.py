"""What a run in the debugger shows: its events, a line each as they come, and all of them as JSON at the end."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agent_framework import WorkflowEvent
from rich.text import Text

from temporal_adapter.cli import output
from temporal_adapter.cli.events import event_line
from temporal_adapter.values import EncodeError, to_plain_json


class Watched:
    """The events of one run.

    Args:
        checkpoint_id: What it went on from.
        quiet: Whether they are only collected.
    """

    def __init__(self, checkpoint_id: str, *, quiet: bool) -> None:
        self._checkpoint_id = checkpoint_id
        self._quiet = quiet
        self._events: list[dict[str, Any]] = []
        self._pending: dict[str, dict[str, Any]] = {}
        self._error: dict[str, str] | None = None

    def see(self, event: WorkflowEvent[Any], *, answered: Collection[str]) -> None:
        """Take an event; print it.

        Args:
            event: The event.
            answered: The ids of requests that are answered as the run begins.
        """
        shown = _event_json(event)
        self._events.append(shown)
        request_id = shown.get("request_id")
        if request_id is not None and request_id not in answered:
            self._pending[request_id] = shown
        self._print(event_line(shown))

    def fail(self, error: Exception) -> None:
        """Note what the run ended with."""
        self._error = {"type": type(error).__name__, "message": str(error)}

    def end(self) -> None:
        """Say what the run waits for, if it does."""
        for request_id, request in self._pending.items():
            self._print(
                Text.assemble(
                    "Waits for a response to ",
                    output.name(request_id, "bold"),
                    output.name(f" of {request['executor_id']}, of type {request['response_type']}."),
                    " If the checkpoint has it pending, answer it by --respond REQUEST_ID=JSON.",
                )
            )

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        states = [one["state"] for one in self._events if one["type"] == "status"]
        return {
            "checkpoint_id": self._checkpoint_id,
            "state": states[-1] if states else None,
            "outputs": [one["data"] for one in self._events if one["type"] == "output"],
            "pending_requests": list(self._pending),
            "events": self._events,
            "error": self._error,
        }

    def _print(self, line: Text) -> None:
        if not self._quiet:
            output.console().print(line)


def _event_json(event: WorkflowEvent[Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "type": event.type,
        "executor_id": event.executor_id,
        "iteration": event.iteration,
        "state": None if event.state is None else event.state.value,
        "data": _plain(event.data),
    }
    if event.type == "request_info":
        response_type: Any = event.response_type
        shown["executor_id"] = event.source_executor_id
        shown["request_id"] = event.request_id
        shown["response_type"] = getattr(response_type, "__name__", None) or str(response_type)
    if event.details is not None:
        shown["data"] = None  # the same once more
        shown["error"] = f"{event.details.error_type}: {event.details.message}"
    return shown


def _plain(data: Any) -> Any:
    try:
        return to_plain_json(data)
    except EncodeError:
        return repr(data)
