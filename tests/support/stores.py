"""Blob stores of every kind to test against: a directory, memory, and services on real HTTP servers started here.

    with s3_service() as service:
        store = BlobStore(f"{service.url}/some/prefix", **service.options)

The S3 API is moto's server, Azure Blob is Azurite, both on a free port of 127.0.0.1 and with their data in memory.
The fixtures that keep one of each for the session are in `tests/conftest.py`. Nothing is known here of checkpoints.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import pytest

from temporal_adapter import BlobStore
from workers import exec_with_parent

from .azurite import azurite_command

KINDS = ["local", "memory", "s3", "azure"]

S3_PAGE = 100
"""Objects in a page of a listing: a thousand on Amazon's service, which takes long to fill."""

_BUCKET = "checkpoints"
_START_SECONDS = 60.0
_LISTENS_ON = re.compile(r"(http://127\.0\.0\.1:[1-9]\d*)")

_ACCOUNT = "devstoreaccount1"
# The key that Azurite and its predecessors have for this account; it is in their documentation.
_ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class Service:
    """An object store that answers, and how a process reaches it.

    Attributes:
        url: The URL of its bucket or container.
        endpoint: Where the server listens.
        environment: The variables that lead obstore, and so the product, to it.
    """

    url: str
    endpoint: str
    environment: Mapping[str, str]

    @property
    def options(self) -> dict[str, Any]:
        """The same as options of a `BlobStore`, for tests that leave the environment alone."""
        settings = {name.lower(): value for name, value in self.environment.items() if "ALLOW_HTTP" not in name}
        return {**settings, "client_options": {"allow_http": True}}


@dataclass(frozen=True)
class Place:
    """Where one test's objects go; empty at first. Two stores that are opened at one place share what is there."""

    kind: str
    url: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, below: str = "") -> BlobStore:
        """Open a store here, or at a path below."""
        return BlobStore(f"{self.url}/{below}" if below else self.url, **self.options)


def new_place(kind: str, request: pytest.FixtureRequest) -> Place:
    """Return a place of one of `KINDS` that no other test uses; starts the server that it needs."""
    unique = uuid4().hex[:12]
    if kind == "local":
        tmp_path: Path = request.getfixturevalue("tmp_path")
        return Place(kind, str(tmp_path / "store"))
    if kind == "memory":
        return Place(kind, f"memory://{unique}")
    service: Service = request.getfixturevalue(f"{kind}_service")
    return Place(kind, f"{service.url}/{unique}", service.options)


# --- S3 -----------------------------------------------------------------------------------------------------


@contextmanager
def s3_service() -> Iterator[Service]:
    """An S3 API with one bucket, which takes any credentials (see `only_known_keys`) and lists `S3_PAGE` at a time."""
    settings = {"MOTO_S3_DEFAULT_MAX_KEYS": str(S3_PAGE)}
    with _server([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"], settings) as endpoint:
        _call("PUT", f"{endpoint}/{_BUCKET}")
        environment = {
            "AWS_ACCESS_KEY_ID": "test-key",
            "AWS_SECRET_ACCESS_KEY": "test-secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ALLOW_HTTP": "true",
        }
        yield Service(f"s3://{_BUCKET}", endpoint, environment)


@contextmanager
def only_known_keys(service: Service) -> Iterator[None]:
    """The S3 API refuses requests while the block is open: it knows no key."""
    _call("POST", f"{service.endpoint}/moto-api/reset-auth", b"0")
    try:
        yield
    finally:
        _call("POST", f"{service.endpoint}/moto-api/reset-auth", b"inf")


# --- Azure --------------------------------------------------------------------------------------------------


@contextmanager
def azure_service() -> Iterator[Service]:
    """Azure Blob with one container and one account, whose key it checks."""
    options = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    command = [*azurite_command(), "--blobHost", "127.0.0.1", "--blobPort", "0", *options]
    with _server(command) as address:
        endpoint = f"{address}/{_ACCOUNT}"
        _make_container(endpoint)
        environment = {
            "AZURE_STORAGE_ACCOUNT_NAME": _ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": _ACCOUNT_KEY,
            "AZURE_STORAGE_ENDPOINT": endpoint,
            "AZURE_ALLOW_HTTP": "true",
        }
        yield Service(f"az://{_BUCKET}", endpoint, environment)


def _make_container(endpoint: str) -> None:
    """Make the container: the one request that obstore has no function for, signed as Azure's Shared Key wants it."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2024-11-04"}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    # The account stands in the path of an emulator's address, and so twice in what is signed.
    text = f"PUT{chr(10) * 12}{signed}/{_ACCOUNT}/{_ACCOUNT}/{_BUCKET}\nrestype:container"
    signature = hmac.new(base64.b64decode(_ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(signature).decode()}"
    _call("PUT", f"{endpoint}/{_BUCKET}?restype=container", headers=headers)


# --- servers ------------------------------------------------------------------------------------------------


@contextmanager
def _server(command: Sequence[str], settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """A server that chooses its port and prints its address, for as long as the block is open; yields the address.

    It is killed at the end, and on Linux also when this process ends in any other way.
    """
    bound = [sys.executable, "-I", "-S", exec_with_parent.__file__, str(os.getpid()), *command]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            bound,
            env={**os.environ, **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield _address(process, log)
        finally:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        printed = os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace")
        found = _LISTENS_ON.search(printed)
        if found:
            return found[1]
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not serve; it printed:\n{printed}")
        time.sleep(0.02)  # what another process prints cannot be awaited


def _call(method: str, url: str, data: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
    given = {"Content-Type": "text/plain", **(headers or {})} if data else dict(headers or {})
    request = urllib.request.Request(url, data=data or None, headers=given, method=method)
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30).close()
