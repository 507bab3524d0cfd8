"""What a conformance run is given: the input, and how its requests are answered. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_framework import WorkflowEvent, WorkflowInvocationKwargs

from .observed import Observed

Answers = Callable[[Sequence[WorkflowEvent[Any]]], Mapping[str, Any]]
"""Given the pending requests at a pause, the responses to give now, by request id. None given: the run stays paused."""


class UnfitForComparison(Exception):
    """The graph or the script cannot be compared; the message says why, and what to change."""


@dataclass(frozen=True)
class Script:
    """What happens to a run from outside.

    Attributes:
        message: The input of the start executor.
        answers: How requests are answered. A mapping has the response for each request by the id of the executor that
            asked, or by request id. A function is given the pending requests (MAF's `request_info` events) at every
            pause, and returns the responses to give now by request id; it must choose by what the requests say, since
            request ids that MAF makes differ from run to run. What has no answer stays pending, and a run that gets no
            answer is compared up to its pause.
        function_invocation_kwargs: As for MAF's `Workflow.run`.
        client_kwargs: As for MAF's `Workflow.run`.
        stream: Whether agents answer in updates, as in MAF's `Workflow.run(stream=True)`, or in one piece.
    """

    message: Any
    answers: Mapping[str, Any] | Answers | None = None
    function_invocation_kwargs: Mapping[str, Any] | WorkflowInvocationKwargs | None = None
    client_kwargs: Mapping[str, Any] | WorkflowInvocationKwargs | None = None
    stream: bool = False

    def kwargs(self) -> dict[str, Any]:
        """Return the run kwargs there are, by name."""
        given = {"function_invocation_kwargs": self.function_invocation_kwargs, "client_kwargs": self.client_kwargs}
        return {name: kwargs for name, kwargs in given.items() if kwargs is not None}

    def responses(self, requests: Sequence[WorkflowEvent[Any]]) -> dict[str, Any]:
        """Return what to respond at a pause, by request id.

        Raises:
            UnfitForComparison: The script answers a request that is not pending.
        """
        if self.answers is None or not requests:
            return {}
        if not callable(self.answers):
            return _looked_up(self.answers, requests)
        given = dict(self.answers(requests))
        pending = {request.request_id for request in requests}
        for request_id in given:
            if request_id not in pending:
                raise UnfitForComparison(
                    f"The script answers request {request_id!r}, and pending are {', '.join(sorted(pending))}: return "
                    "responses by the request_id of the requests that `answers` is given."
                )
        return given


def check_answers_used(script: Script, seen: Observed) -> None:
    """See that a mapping of answers has none for a request that was never made: a run would wait for it unnoticed.

    Raises:
        UnfitForComparison: It has.
    """
    if script.answers is None or callable(script.answers):
        return
    requests = [event for pause in seen.pauses for event in pause]
    executors = sorted({event.source_executor_id for event in requests})
    asked = {event.request_id for event in requests}.union(executors)
    unused = [key for key in script.answers if key not in asked]
    if unused:
        raise UnfitForComparison(
            f"The script answers {', '.join(map(repr, unused))}, and no such request was made; there were requests of "
            f"{', '.join(map(repr, executors)) or 'no executor'}. Answer by request id, or by the id of the executor "
            "that asks; for a sub-workflow, of the one that wraps it."
        )


def _looked_up(answers: Mapping[str, Any], requests: Sequence[WorkflowEvent[Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for request in requests:
        key = request.request_id if request.request_id in answers else request.source_executor_id
        if key in answers:
            found[request.request_id] = answers[key]
    return found
