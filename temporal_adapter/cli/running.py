"""How a command ends: exit codes, and errors that a person can mend as one line on the error output.

Whatever else a command raises is a bug, and keeps its stack trace.
"""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from enum import IntEnum
from typing import Any

from temporalio.service import RPCError

from temporal_adapter import process
from temporal_adapter.connection import ConnectionFailed
from temporal_adapter.store import CodecNeeded, StoreError

from .output import printable


class ExitCode(IntEnum):
    """What the process exits with; documented in `docs/cli.md`, and stable."""

    OK = 0
    FINDING = 1  # a difference, something missing, a run that failed: the command worked, and this is what it found
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    INTERRUPTED = 130  # by Ctrl-C, or left in the debugger


class CliError(Exception):
    """Something that a person can mend; the message names the thing and the fix."""

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def exit_code(command: Coroutine[Any, Any, ExitCode]) -> int:
    """Run a command to its end and return its exit code, after its errors were told."""
    return process.exit_code(told(command))


def tell(message: str) -> None:
    """Say something that is not the answer, on the error output."""
    print(printable(message), file=sys.stderr, flush=True)


async def told(command: Coroutine[Any, Any, ExitCode]) -> int:
    """Await a command; return its exit code, after its errors were told."""
    try:
        return await command
    except CliError as error:
        code, problem = error.code, error
    except CodecNeeded as error:
        code, problem = ExitCode.UNREACHABLE, f"{error} Here: --payload-codec package.module:object."
    except (StoreError, ConnectionFailed) as error:
        code, problem = ExitCode.UNREACHABLE, error
    except RPCError as error:
        code, problem = ExitCode.UNREACHABLE, f"the Temporal server refused: {error.message}"
    tell(f"Error: {' '.join(str(problem).split())}")
    return code
