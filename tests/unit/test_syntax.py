"""The packages compile on every supported Python that this machine has, not only on the one that runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILE = "import sys\nfor path in sys.argv[1:]:\n    compile(open(path, encoding='utf-8').read(), path, 'exec')"


def interpreters() -> list[str]:
    found = [sys.executable]
    for minor in range(10, 14):
        name = f"python3.{minor}"
        by_pyenv = sorted(
            Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/3.{minor}.*/bin/python")
        )
        found += [path for path in [shutil.which(name), *map(str, by_pyenv)] if path is not None]
    # A name on PATH may be a shim of a Python that is not switched on.
    return [path for path in found if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0]


@pytest.mark.parametrize("python", interpreters())
def test_every_module_compiles(python: str) -> None:
    paths = [str(path) for package in ("temporal_adapter", "workers") for path in (ROOT / package).rglob("*.py")]
    result = subprocess.run([python, "-c", COMPILE, *paths], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
