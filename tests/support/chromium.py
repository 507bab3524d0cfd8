"""Debian's Chromium for tests in a browser: found, or installed. `make test` runs this as a program before the tests.

Playwright's own browsers are not used: its Python package drives whichever Chromium is here.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, async_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LOCK = Path(tempfile.gettempdir()) / "chromium-for-tests.lock"
_ARGUMENTS = (
    "--no-sandbox",  # which cannot be had as root, or in most containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """Return the path of Chromium; as root on Debian, it is installed where there is none.

    Raises:
        RuntimeError: There is none, and it cannot be installed; says what is missing.
    """
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes run tests
        found = _found()
        if found is None:
            _install()
            found = _found()
    if found is None:
        raise RuntimeError("Chromium was installed, and yet it is not on the PATH.")
    return found


def _found() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)


def _install() -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise RuntimeError(
            "The tests of the inbox need Chromium, and there is none on the PATH. Install it, such as by "
            "`sudo apt-get install chromium`."
        )
    print("Installing Chromium for the tests of the inbox", flush=True)
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run(["apt-get", "update", "-qq"], check=True, **quiet)  # type: ignore[call-overload]
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    subprocess.run(command, check=True, **quiet)  # type: ignore[call-overload]


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """A browser without a window, with a profile of its own."""
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=chromium(), args=_ARGUMENTS)
        try:
            yield launched
        finally:
            await launched.close()


if __name__ == "__main__":
    try:
        chromium()
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"Error: {error}")
