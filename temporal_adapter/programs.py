"""Where programs are that come by wheel, such as Temporal's servers. Starting them is not done here."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def find_program(name: str) -> str | None:
    """Return the path of a program: beside this Python (its virtual environment) first, then on PATH; None: nowhere."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return shutil.which(name, path=folders)
