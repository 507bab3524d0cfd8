"""Queries that a run cannot answer just now."""

from __future__ import annotations

import pytest
from temporalio.client import WorkflowQueryFailedError

from temporal_adapter.client.taken_up import once_taken_up
from temporal_adapter.wire.names import NOT_TAKEN_UP


class Answers:
    """A run that answers so: errors by their messages, then for good."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)

    async def __call__(self) -> str:
        if self.errors:
            raise WorkflowQueryFailedError(self.errors.pop(0))
        return "answer"


@pytest.mark.parametrize("error", [f"{NOT_TAKEN_UP}: later", "[TMPRL1101] Potential deadlock detected"])
async def test_what_passes_is_asked_again(error: str) -> None:
    assert await once_taken_up(Answers(error, error), 0.0) == "answer"


async def test_any_other_error_is_raised_at_once() -> None:
    with pytest.raises(WorkflowQueryFailedError, match="no such query"):
        await once_taken_up(Answers("no such query"), 0.0)


async def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkflowQueryFailedError, match="later"):
        await once_taken_up(Answers(*[f"{NOT_TAKEN_UP}: later"] * 50), 0.01, 0.05)


async def test_a_check_says_when_there_will_be_no_answer() -> None:
    async def check() -> None:
        raise LookupError("it has ended")

    with pytest.raises(LookupError, match="it has ended"):
        await once_taken_up(Answers(f"{NOT_TAKEN_UP}: later"), 0.0, check=check)
