"""What is typed as `NAME=JSON`: responses and shared state. Whether it suits a run is not decided here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from temporal_adapter.cli.given import parsed_json
from temporal_adapter.cli.running import CliError, ExitCode


def given_responses(given: Sequence[str], requests: Collection[str], checkpoint_id: str) -> dict[str, Any]:
    """Return what `--respond REQUEST_ID=JSON` says, by request id.

    Args:
        given: As typed.
        requests: The ids of the requests of the checkpoint that can be answered.
        checkpoint_id: For messages.

    Raises:
        CliError: One is not of that form, or of a request that is not among these.
    """
    responses: dict[str, Any] = {}
    for text in given:
        request_id = _named(text, requests)
        if request_id is None:
            raise CliError(
                ExitCode.USAGE,
                f"--respond: {text!r} is not REQUEST_ID=JSON of a request that is pending in checkpoint "
                f"{checkpoint_id!r}. Pending: {', '.join(requests) or 'none'}.",
            )
        responses[request_id] = _json("--respond", text, request_id)
    return responses


def given_state(given: Sequence[str], known: Collection[str]) -> dict[str, Any]:
    """Return what `--state KEY=JSON` says, by key; a key that the checkpoint has may hold an equals sign.

    Raises:
        CliError: One is not of that form.
    """
    state: dict[str, Any] = {}
    for text in given:
        key = _named(text, known) or text.partition("=")[0]
        if not key or "=" not in text:
            raise CliError(ExitCode.USAGE, f"--state: {text!r} is not KEY=JSON.")
        state[key] = _json("--state", text, key)
    return state


def _named(text: str, names: Collection[str]) -> str | None:
    return max((one for one in names if text.startswith(f"{one}=")), key=len, default=None)


def _json(option: str, text: str, name: str) -> Any:
    problem = f'{option}: {text!r} has no JSON after the "="'
    return parsed_json(text[len(name) + 1 :], problem, hint=" A text wants quotes: '\"yes\"'.")
