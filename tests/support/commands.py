"""Runs the programs of `workers` as a person does, for tests of what they print, exit with and leave behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.scripts import REPOSITORY

# What a developer's own environment has set must not change what a test sees.
_UNSET = ("TEMPORAL_", "OPENAI_", "DEMO_", "CI", "FORCE_COLOR", "TTY_")


# Makes the terminal at its input the one that Ctrl-C is typed at, and becomes the program.
_AT_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    code: int
    out: str
    err: str


def environment(**variables: str) -> dict[str, str]:
    """The environment for a program: without settings for Temporal, models and terminals but those given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_UNSET)}
    path = os.pathsep.join([str(REPOSITORY), inherited.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**inherited, "PYTHONPATH": path, "TEMPORAL_CONFIG_FILE": os.devnull, **variables}


@contextmanager
def started(
    *arguments: str, cwd: Path = REPOSITORY, env: Mapping[str, str], terminal: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A Python program (`-m workers ...`) in a session of its own; killed at the end.

    Its outputs are piped and its input is empty, unless it is given a terminal, which then is all three.
    """
    command = [sys.executable, *arguments]
    if terminal is None:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    else:
        command = [sys.executable, "-c", _AT_TERMINAL, *command]
        streams = dict.fromkeys(["stdin", "stdout", "stderr"], terminal)
    process = subprocess.Popen(command, cwd=cwd, env=env, text=True, start_new_session=True, **streams)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], timeout: float = 120) -> Ended:
    """Waits for the program to end."""
    out, err = process.communicate(timeout=timeout)
    return Ended(process.returncode, out, err)


def run(*arguments: str, cwd: Path = REPOSITORY, env: Mapping[str, str]) -> Ended:
    """Runs a Python program to its end."""
    with started(*arguments, cwd=cwd, env=env) as process:
        return ended(process)


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Waits for a line of the program's output that has the text in it."""
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        if text in line:
            return line.strip()
        seen.append(line)
    raise AssertionError(f"no line with {text!r} in: {''.join(seen)}{process.stderr and process.stderr.read()}")


def processes_with(text: str) -> list[int]:
    """The ids of all processes on this machine, zombies apart, with the text in their command line."""
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(maxsplit=2) for line in listing.splitlines()]
    return [int(row[0]) for row in rows if len(row) == 3 and not row[1].startswith("Z") and text in row[2]]


async def until_none_with(text: str) -> None:
    """Returns once no process has the text in its command line; only on Linux do children die with a killed parent."""
    if sys.platform != "linux":
        for pid in processes_with(text):
            os.kill(pid, signal.SIGKILL)
    while processes_with(text):  # noqa: ASYNC110  # the kernel has no event for processes of others
        await asyncio.sleep(0.05)
