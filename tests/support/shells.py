"""Runs `temporal-adapter` as a person does: piped, or at a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import commands


class Shell:
    """A shell in a folder, with variables of its own."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.env = commands.environment(**variables, COLUMNS="80")

    def run(self, *arguments: str, typed: str = "", **env: str) -> commands.Ended:
        """Run `temporal-adapter` with its outputs piped, and this typed at its input."""
        done = subprocess.run(
            [sys.executable, "-m", "temporal_adapter.cli", *arguments],
            cwd=self.folder,
            env={**self.env, **env},
            input=typed,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return commands.Ended(done.returncode, done.stdout, done.stderr)

    async def serve(self, *arguments: str, typed: str = "", **env: str) -> commands.Ended:
        """Run `temporal-adapter` likewise, while workers of this process go on."""
        return await asyncio.to_thread(self.run, *arguments, typed=typed, **env)

    def at_terminal(
        self,
        *arguments: str,
        width: int,
        typed: str = "",
        code: int = 0,
        when: tuple[str, Callable[[], object]] | None = None,
    ) -> list[str]:
        """Run `temporal-adapter` at a terminal; return the lines, without colours and the like.

        Args:
            arguments: Of the command.
            width: Of the terminal.
            typed: What is typed.
            code: The exit code that it must end with.
            when: A text, and what to call once it is shown.
        """
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        env = {name: one for name, one in self.env.items() if name != "COLUMNS"} | {"TERM": "xterm"}
        command = [sys.executable, "-m", "temporal_adapter.cli", *arguments]
        with subprocess.Popen(command, cwd=self.folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            os.write(ours, typed.encode())
            shown = b""
            with contextlib.suppress(OSError):  # of a terminal that its last program has left
                while read := os.read(ours, 4096):
                    shown += read
                    if when is not None and when[0].encode() in shown:
                        when[1]()
                        when = None
            assert process.wait(30) == code
        os.close(ours)
        return re.sub(r"\x1b\[\??[0-9;]*[A-Za-z]", "", shown.decode()).splitlines()

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run `temporal-adapter ... --json`; return the document."""
        ended = self.run(*arguments, "--json")
        assert ended.code == code, ended
        return self.read(ended)

    @staticmethod
    def read(ended: commands.Ended) -> Any:
        """Return the document that a command has answered with."""
        return json.loads(ended.out)
