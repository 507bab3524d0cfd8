"""The blob store: named bytes under one URL. What the bytes mean is not known here.

Kinds of URL:

    path, file:///path      a local directory, created when missing
    memory://name           memory of this process; the same name is the same store
    memory://               memory of this process, private to this `BlobStore`
    s3://, gs://, az://     object stores, opened by obstore's `from_url`; options are passed on to it

Every object is written whole or not at all, so a reader never sees half of one. The local store does not call
fsync: after a power loss (not after a crash of the process) an object written last may be missing or cut short,
which readers detect by digest.

Bytes enter and leave through `_write` and `_read` only, and there they pass the payload codec: a store with one that
encrypts has no object in plain. Names of objects are not encoded, as Temporal does not encode workflow ids either.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import os
import re
import uuid
from collections.abc import AsyncIterable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, MemoryStore, ObjectStore, from_url  # pyright: ignore[reportUnknownVariableType]

from .errors import MissingObject, StoreError
from .frame import framed, unframed

if TYPE_CHECKING:
    from obstore import ObjectMeta  # obstore has it for type checkers only
    from temporalio.converter import PayloadCodec

_PROBE_SECONDS = 20.0  # some file systems, such as /proc, let a write hang for ever

# Those of obstore's `from_url` for stores that can be written.
_REMOTE_SCHEMES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https")
_KINDS = "there are paths, file://, memory://, s3://, gs:// and az://"

_FIX_LOCAL = "Give a directory that this process can create and write to."
_FIX_REMOTE = (
    "Check that the bucket exists and that the credentials may read, write, list and delete objects; they come from "
    "the service's usual environment variables, such as AWS_ACCESS_KEY_ID, AZURE_STORAGE_ACCOUNT_KEY or "
    "GOOGLE_SERVICE_ACCOUNT."
)


class Entry(NamedTuple):
    """An object in a listing: its name, its bytes as they are stored, and when it was last written."""

    name: str
    size: int
    modified: datetime


class BlobStore:
    """Named bytes under one URL.

    Names are `/`-separated; build them with `store.names`, which makes any id safe.

    Args:
        url: A path or URL; the module docstring lists the kinds. A `~` that starts a path is the home directory.
        payload_codec: Encodes what is written and decodes what is read, as the client's data converter does with what
            goes to Temporal. Give the same one. Objects that were written without are read all the same.
        options: Passed on to obstore's `from_url` (`region=`, `endpoint=`, `client_options=`, credentials, ...).

    Raises:
        StoreError: The URL is of no known kind, or its directory cannot be created.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, payload_codec: PayloadCodec | None = None, **options: Any
    ) -> None:
        text = os.fspath(url)
        self._codec = payload_codec
        self._url = _without_secrets(text)
        self._fix = _FIX_REMOTE if _scheme(text) not in ("", "file", "memory") else _FIX_LOCAL
        try:
            self._store = _open(text, options)
        except (BaseError, OSError, ValueError) as error:
            raise StoreError(f"The blob store {self._url} cannot be opened: {_reason(error)}. {self._fix}") from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of obstore, for an option of the wrong kind
                raise
            raise StoreError(f"The blob store {self._url} cannot be opened: {_reason(error)}. {self._fix}") from None

    @classmethod
    def of(cls, store: str | os.PathLike[str] | BlobStore, payload_codec: PayloadCodec | None = None) -> BlobStore:
        """Return the store of a path or URL, or the one that was given.

        Args:
            store: The path, URL or store. One with a codec of its own keeps it.
            payload_codec: The codec for one without. The store that was given stays as it is.

        Raises:
            StoreError: As the constructor.
        """
        if not isinstance(store, BlobStore):
            return cls(store, payload_codec=payload_codec)
        if payload_codec is None or store.encodes:
            return store
        same = copy.copy(store)
        same._codec = payload_codec
        return same

    @property
    def url(self) -> str:
        """The URL, without user information and query: fit for messages."""
        return self._url

    @property
    def encodes(self) -> bool:
        """Whether a payload codec encodes what is written."""
        return self._codec is not None

    async def get(self, name: str) -> bytes:
        """Return an object's bytes.

        Raises:
            MissingObject: There is none of this name.
            CorruptObject: It was written through a payload codec, and is damaged.
            StoreError: The store cannot be read; or the object needs a payload codec, or another one.
        """
        return await self._read(name)

    async def put(self, name: str, data: bytes) -> None:
        """Write an object, in place of one that is there.

        Raises:
            StoreError: The store cannot be written, or the payload codec raised.
        """
        await self._write(name, data, "overwrite")

    async def put_new(self, name: str, data: bytes) -> bool:
        """Write an object unless there is one; return whether it was written.

        Of several racing writers exactly one is told True. An object that is there is left alone and not compared.

        Raises:
            StoreError: The store cannot be written, or the payload codec raised.
        """
        return await self._write(name, data, "create")

    async def exists(self, name: str) -> bool:
        """Return whether there is an object of this name.

        Raises:
            StoreError: The store cannot be read.
        """
        return await self.last_modified(name) is not None

    async def last_modified(self, name: str) -> datetime | None:
        """Return when an object was last written, by the store's clock; None when there is none of this name.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._errors("read", name):
            try:
                return (await obstore.head_async(self._store, name))["last_modified"]
            except FileNotFoundError:
                return None

    async def delete(self, name: str) -> None:
        """Delete an object. One that is not there is fine.

        Raises:
            StoreError: The store refused.
        """
        with self._errors("delete", name):
            try:
                await obstore.delete_async(self._store, name)
            except FileNotFoundError:
                return

    async def list(self, prefix: str) -> list[str]:
        """Return the names below `prefix`, sorted. A prefix ends at a `/`: `a/b` lists `a/b/c`, not `a/bc`.

        Raises:
            StoreError: The store cannot be listed.
        """
        return [entry.name for entry in await self.entries(prefix)]

    async def entries(self, prefix: str) -> Sequence[Entry]:
        """Return the same, each with what the listing says of it.

        Raises:
            StoreError: The store cannot be listed.
        """
        entries: list[Entry] = []
        with self._errors("list", prefix):
            # obstore's overloads name a type of arro3, which is not installed, so they need help.
            pages = cast(
                "AsyncIterable[Sequence[ObjectMeta]]",
                obstore.list(self._store, prefix),  # pyright: ignore[reportUnknownMemberType]
            )
            async for page in pages:
                entries += [Entry(entry["path"], entry["size"], entry["last_modified"]) for entry in page]
        return sorted(entries)

    async def probe(self) -> None:
        """Check that objects can be written, read and deleted, by doing so once. For the start of a worker.

        Raises:
            StoreError: They cannot; the message names the URL and what to do.
        """
        name = f"probe-{uuid.uuid4().hex}"
        try:
            await asyncio.wait_for(self._try_out(name), _PROBE_SECONDS)
        except asyncio.TimeoutError as error:
            raise StoreError(
                f"The blob store {self._url} cannot be used: it did not answer within {_PROBE_SECONDS:.0f} seconds. "
                f"{self._fix}"
            ) from error
        except StoreError as error:
            if not isinstance(error.__cause__, (BaseError, OSError, type(None))):  # the payload codec's trouble
                raise
            reason = _reason(error.__cause__ or error)
            raise StoreError(f"The blob store {self._url} cannot be used: {reason}. {self._fix}") from error

    async def _try_out(self, name: str) -> None:
        await self.put(name, b"probe")
        await self.get(name)
        await self.delete(name)

    async def _write(self, name: str, data: bytes, mode: Literal["create", "overwrite"]) -> bool:
        if self._codec is not None:
            data = await framed(self._codec, data, self._place(name))
        with self._errors("write", name):
            try:
                await obstore.put_async(self._store, name, data, mode=mode)
            except AlreadyExistsError:
                return False
        return True

    async def _read(self, name: str) -> bytes:
        with self._errors("read", name):
            try:
                found = await obstore.get_async(self._store, name)
                data = (await found.bytes_async()).to_bytes()
            except FileNotFoundError as error:
                raise MissingObject(f"The blob store {self._url} has no object {name}.") from error
        return await unframed(self._codec, data, self._place(name))

    def _place(self, name: str) -> str:
        return f"{name} in the blob store {self._url}"

    @contextmanager
    def _errors(self, action: str, name: str) -> Generator[None, None, None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise StoreError(
                f"The blob store {self._url} could not {action} {name}: {_reason(error)}. {self._fix}"
            ) from error


def _open(url: str, options: dict[str, Any]) -> ObjectStore:
    scheme = _scheme(url)
    if scheme not in ("", "file", "memory"):
        if scheme not in _REMOTE_SCHEMES:
            raise ValueError(f"there is no kind of store called {scheme}://; {_KINDS}")
        if "@" in urlsplit(url).netloc and scheme in ("http", "https"):
            raise ValueError("the URL has user information, which is not used")  # and would be in every error
        return from_url(url, **options)
    if options:
        raise ValueError(f"options {sorted(options)} are for object stores only")
    if scheme == "memory":
        name = url.partition("://")[2]
        return _shared_memory(name) if name else MemoryStore()
    return LocalStore(_file_path(url) if scheme else _plain_path(url), mkdir=True)


@functools.cache  # the one thing a process shares by name: it is what `memory://name` means
def _shared_memory(_name: str) -> MemoryStore:
    return MemoryStore()


def _scheme(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    return scheme.lower() if separator else ""


def _plain_path(path: str) -> Path:
    if not path:
        raise ValueError("the path is empty")
    return Path(path).expanduser().absolute()


def _file_path(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise ValueError("a file URL has no host and an absolute path, as in file:///var/lib/checkpoints")
    if parts.query or parts.fragment:
        raise ValueError("'?' and '#' in a file URL are written %3F and %23")
    return Path(unquote(parts.path))


def _without_secrets(url: str) -> str:
    if not _scheme(url):
        return url
    start, _, rest = url.partition("://")
    place = rest.partition("?")[0]
    host, separator, path = place.partition("/")
    return f"{start}://{host.rpartition('@')[2]}{separator}{path}"


def _reason(error: BaseException) -> str:
    # obstore appends a debug dump of many lines after the first one; the chained cause still has it. The first may end
    # in the beginning of the service's own answer, whose code says more.
    text = str(error)
    first = (text.splitlines() or [type(error).__name__])[0].partition("<?xml")[0].rstrip(". :")
    code = re.search(r"<Code>(\w+)</Code>", text)
    return first if code is None else f"{first} ({code[1]})"
