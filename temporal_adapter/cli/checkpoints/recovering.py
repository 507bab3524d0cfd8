"""What `rebuild`, `verify` and `adopt` share: errors of recovery that end a command, and reports as JSON.

Loads what replays histories, as the commands that only look need not.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator, Sequence
from typing import Any

from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.recovery import NotReplayable, RunNotOnServer

from .opened import Opened


@contextlib.contextmanager
def explained() -> Generator[None, None, None]:
    """Turn what recovery raises into errors that end the command."""
    try:
        yield
    except RunNotOnServer as error:
        raise CliError(ExitCode.NOT_FOUND, str(error)) from error
    except NotReplayable as error:
        raise CliError(ExitCode.UNREACHABLE, str(error)) from error


def tell_gone(run_ids: Sequence[str]) -> None:
    """Say which of the Temporal runs that a run has been the server does not have any more."""
    if run_ids:
        tell(
            f"The server has the history of an earlier Temporal run no more ({run_ids[-1]}): what only that told could "
            "not be looked at."
        )


def report_json(store: Opened, report: Any, **more: Any) -> dict[str, Any]:
    """Return a report, a dataclass, as JSON, with the store that it is of."""
    where = {"checkpoint_store": store.blobs.url, "namespace": store.namespace}
    return {**where, **more, **dataclasses.asdict(report)}
