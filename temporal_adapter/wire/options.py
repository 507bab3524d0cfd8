"""Reading the options that a run is started with, and the inputs of a session."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from .responses import check_depth
from .schema import VERSION_KEY, WireError, load, replace
from .shapes import Restore, SessionInput, StartOptions

NO_TOOLS = (
    "Run-scoped tools cannot reach the workers, which are other processes. Give the agents their tools in the factory "
    "that builds the workflow; what differs by run can come by function_invocation_kwargs."
)
"""Why a run cannot be given tools, and what to do instead."""


def parse_options(data: Any = None) -> StartOptions:
    """Return the options in the JSON of a run's second argument.

    In plain JSON, which people write, an unknown key is a mistake; in a client's it may be of a later release.

    Raises:
        WireError: The JSON has another shape, unknown keys, or kwargs that are nested too deeply.
    """
    options = load(StartOptions, {} if data is None else data)
    known = [field.encode_name for field in msgspec.structs.fields(StartOptions)]
    if options.encoding == "json":
        for key in data or ():
            if key == "tools":
                raise WireError(NO_TOOLS)
            if key not in (*known, VERSION_KEY):
                raise WireError(f"The run's options have the unknown key {key!r}. They may have: {', '.join(known)}.")
        _check_restore_keys(cast("dict[str, Any]", data or {}).get("restore"))
    check_depth(options.function_invocation_kwargs)
    check_depth(options.client_kwargs)
    if options.restore is not None:
        check_depth(options.restore.responses)
        check_depth(options.restore.state)
    return options


def _check_restore_keys(restore: Any) -> None:
    known = [field.encode_name for field in msgspec.structs.fields(Restore)]
    for key in restore or ():
        if key not in known:
            raise WireError(f"The run's `restore` has the unknown key {key!r}. It may have: {', '.join(known)}.")


def check_run_arguments(message: Any, responses: Any, checkpoint_id: Any) -> None:
    """Hold to MAF's rules on what can be given to one run (`Workflow._validate_run_params`).

    Raises:
        ValueError: They do not go together, or nothing is given.
    """
    if message is not None and responses is not None:
        raise ValueError("Cannot provide both 'message' and 'responses'. Use one or the other.")
    if message is not None and checkpoint_id is not None:
        raise ValueError("Cannot provide both 'message' and 'checkpoint_id'. Use one or the other.")
    if message is None and responses is None and checkpoint_id is None:
        raise ValueError(
            "Must provide at least one of: 'message' (new run), 'responses' (send responses), "
            "or 'checkpoint_id' (resume from checkpoint)."
        )


def parse_session_input(data: Any = None, *more: Any) -> SessionInput:
    """Return the input in the JSON of a session's update `run`.

    Raises:
        WireError: The JSON has another shape, unknown keys, or arguments that do not go together.
    """
    known = [field.encode_name for field in msgspec.structs.fields(SessionInput)]
    if more or not isinstance(data, dict):
        raise WireError(f"Expected one JSON object, with some of: {', '.join(known)}.")
    check_depth(data)
    given = load(SessionInput, data)
    if given.encoding == "json":
        for key in cast("dict[str, Any]", data):
            if key not in (*known, VERSION_KEY):
                raise WireError(f"The input has the unknown key {key!r}. It may have: {', '.join(known)}.")
    try:
        check_run_arguments(given.message, given.responses, given.checkpoint_id)
    except ValueError as error:
        raise WireError(str(error)) from error
    return given


def without_gifts(restore: Restore | None) -> Restore | None:
    """Return how a run came from a checkpoint, without what a fork was given: that may be large, and is in history."""
    return None if restore is None else replace(restore, responses={}, state={}, deleted_state=[])
