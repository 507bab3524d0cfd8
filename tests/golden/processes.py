"""Processes in which stored histories are replayed (`elsewhere`): of other Pythons, hash seeds, and MAF versions."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
_MADE = REPOSITORY / ".run" / "golden"  # what is installed for other Pythons, kept for the next time

_PATIENCE = 300.0


@dataclass(frozen=True)
class Elsewhere:
    """A process to replay in.

    Attributes:
        hash_seed: Of Python's sets and dicts of texts.
        before: A folder whose modules come before all others.
        python: The program; this one's by default.
        modules: A folder with the modules that the program needs of its own.
    """

    hash_seed: int
    before: Path | None = None
    python: str = sys.executable
    modules: Path | None = None

    async def replayed(self, *arguments: str) -> dict[str, Any]:
        """Replay all stored histories; return what `elsewhere` prints."""
        shared = [path for path in sys.path if path.endswith("site-packages")]
        path = [self.before, self.modules, REPOSITORY, *(shared if self.python != sys.executable else [])]
        environment = {
            **os.environ,
            "PYTHONHASHSEED": str(self.hash_seed),
            "PYTHONPATH": os.pathsep.join(str(one) for one in path if one is not None),
        }
        process = await asyncio.create_subprocess_exec(
            self.python,
            *("-m", "tests.golden.elsewhere", *arguments),
            cwd=REPOSITORY,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), _PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, err.decode(errors="replace")[-4000:]
        return json.loads(out.decode().splitlines()[-1])


def other_pythons() -> dict[str, str]:
    """Return the other Pythons of this machine that the package supports: programs, by version."""
    found: dict[str, str] = {}
    versions = [f"3.{minor}" for minor in range(10, 14) if minor != sys.version_info.minor]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in versions:
        installed = [str(one) for one in sorted(pyenv.glob(f"{version}.*/bin/python"))]
        program = installed[-1] if installed else shutil.which(f"python{version}")
        if program is not None and _works(program, version):
            found[version] = program
    return found


def _works(program: str, version: str) -> bool:
    """Whether a program is that Python: pyenv puts programs on the path that only say what to install."""
    asked = subprocess.run([program, "-V"], capture_output=True, text=True, check=False)
    return asked.returncode == 0 and asked.stdout.startswith(f"Python {version}.")


async def modules_for(version: str) -> Path:
    """Return a folder with what another Python cannot take from this environment: msgspec, which is compiled for one.

    Temporal's SDK and protobuf are for all of them.
    """
    msgspec = f"msgspec=={importlib.metadata.version('msgspec')}"
    folder = _MADE / f"{msgspec}-for-{version}"
    if not folder.exists():
        made = folder.with_name(f"{folder.name}.{os.getpid()}")
        await _pip("install", "--target", str(made), "--python-version", version, "--only-binary", ":all:", msgspec)
        made.rename(folder)
    return folder


async def other_maf() -> tuple[str, Path]:
    """Return another version of MAF than the installed one, the newest before it, and a folder with it."""
    present = importlib.metadata.version("agent-framework-core")
    requirement = f"agent-framework-core<{re.match('[0-9]+[.][0-9]+', present)[0]}"
    folder = _MADE / f"maf-before-{present}"
    if not folder.exists():
        made = folder.with_name(f"{folder.name}.{os.getpid()}")
        await _pip("install", "--target", str(made), requirement)
        made.rename(folder)
    [found] = importlib.metadata.distributions(name="agent-framework-core", path=[str(folder)])
    return found.version, folder


async def _pip(command: str, *arguments: str) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", command, "--no-deps", *arguments]
    process = await asyncio.create_subprocess_exec(*pip, stderr=asyncio.subprocess.PIPE)
    _, err = await process.communicate()
    assert process.returncode == 0, err.decode(errors="replace")
