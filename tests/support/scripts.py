"""Runs Python code in a process of its own, for tests of what happens to a whole process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    """Starts the code as a script from the repository's folder, with both of its outputs piped."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the code to its end, at most two minutes."""
    started = start(code, **environment)
    [(returncode, out, err)] = outcomes([started])
    return subprocess.CompletedProcess(started.args, returncode, out, err)


def outcomes(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    """Waits, two minutes each at most, for the processes to end: exit code, output and error output of each.

    None of them is left running, whatever happens.
    """
    try:
        outputs = [each.communicate(timeout=120) for each in processes]
        return [(each.returncode, out, err) for each, (out, err) in zip(processes, outputs, strict=True)]
    finally:
        for each in processes:
            each.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    """Waits for the next line that the process prints; the empty string when it ends before."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
