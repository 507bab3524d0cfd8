"""Who decides about the request: a script, or the person at the keyboard."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import click

from temporal_adapter.process import STOP_SIGNALS
from workers.expense_approval import ApprovalRequest, Decision, in_euros


class Interrupted(Exception):
    """The person at the keyboard gave up (Ctrl-C, or end of input)."""


def approve(request: ApprovalRequest) -> Decision:
    """Approve, as a manager who has seen the reasons."""
    return Decision(approved=True, comment=f"Fine, for {request.purpose}.")


def ask_at_the_keyboard(request: ApprovalRequest) -> Decision:
    """Ask the person at the keyboard. Blocks: nothing else in this process has to go on meanwhile.

    Raises:
        Interrupted: The person gave up.
    """
    try:
        with _interruptible():
            question = f"Approve {in_euros(request.total)} for {request.employee}? [Y/n]"
            approved = click.prompt(question, default="y", show_default=False, value_proc=_yes_or_no)
            return Decision(approved=approved, comment=click.prompt("Comment", default="", show_default=False))
    except click.Abort:
        raise Interrupted from None


def _yes_or_no(answer: str) -> bool:
    """Read an answer as `click.confirm` does, which says no more than "invalid input" to any other."""
    meaning = {"y": True, "yes": True, "n": False, "no": False}.get(answer.strip().lower())
    if meaning is None:
        raise click.UsageError(f"{answer!r} is neither yes nor no: answer y or n.")
    return meaning


def wait_for_a_key(message: str) -> None:
    """Show a message and wait until a key is pressed, or a signal arrives."""
    with suppress(KeyboardInterrupt), _interruptible():
        click.pause(message)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let signals end a wait for input, as KeyboardInterrupt. Python resumes the wait after a handler that returns."""

    def give_up(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {each: signal.signal(each, give_up) for each in STOP_SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
