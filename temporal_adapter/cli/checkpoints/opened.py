"""The checkpoint store that a command's options name, opened, and finding checkpoints and runs in it.

Only reading. A store that is not there is an error here: opening must not create an empty one, unless asked to.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from temporal_adapter import wire
from temporal_adapter.cli.codec import payload_codec
from temporal_adapter.cli.options import StoreOptions
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.connection import configured_namespace
from temporal_adapter.store import BlobStore, CheckpointStore, ValueStore
from temporal_adapter.wire.names import MIGRATED_FROM

_FIX = "Give the workers' store by --checkpoint-store or TEMPORAL_ADAPTER_CHECKPOINT_STORE."

_READS_AT_ONCE = 16

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Opened:
    """A checkpoint store of one namespace.

    Attributes:
        blobs: The store itself.
        namespace: Temporal's.
        checkpoints: Its checkpoints.
        values: Its values.
    """

    blobs: BlobStore
    namespace: str
    checkpoints: CheckpointStore
    values: ValueStore

    async def manifest(self, checkpoint_id: str) -> wire.Manifest:
        """Return a checkpoint.

        Raises:
            CliError: There is none of this id.
            StoreError: It cannot be read.
        """
        found = await self.checkpoints.load_by_id(checkpoint_id)
        if found is None:
            raise await self._no_checkpoint(checkpoint_id)
        return found

    async def _no_checkpoint(self, given: str) -> CliError:
        """Return the error that there is no checkpoint of an id; of a workflow id, it names the newest."""
        entries = [
            entry
            for name, workflow_id in await self.workflows()
            if workflow_id == given
            for entry in await self.checkpoints.headers(name, workflow_id)
        ]
        if entries:
            newest = max(reversed(entries), key=lambda entry: entry.header.timestamp).header.checkpoint_id
            listing = shlex.join(["temporal-adapter", "checkpoint", "list", given])
            return CliError(
                ExitCode.NOT_FOUND,
                f"{given!r} is a workflow id, and the id of a checkpoint is wanted: its newest is {newest}. "
                f"`{listing}` shows all.",
            )
        return CliError(
            ExitCode.NOT_FOUND,
            f"there is no checkpoint {given!r} in {self.place}. `temporal-adapter checkpoint list` shows what there "
            "is.",
        )

    async def run_of(self, manifest: wire.Manifest) -> wire.RunEntry | None:
        """Return what the store knows of the run that made a checkpoint; of one made in-process, nothing.

        One that was migrated is of the last run of its workflow id.
        """
        runs = await self.checkpoints.runs(manifest.workflow_name, manifest.workflow_id)
        if not manifest.run_id and MIGRATED_FROM in manifest.header.metadata:
            return runs[-1] if runs else None
        return next((run for run in reversed(runs) if run.run_id == manifest.run_id), None)

    async def entries(self, workflow_names: Sequence[str]) -> list[wire.IndexEntry]:
        """Return what the index knows of all checkpoints of these workflows, by lineage within each."""
        return [entry for name in workflow_names for entry in await self.checkpoints.headers(name)]

    async def workflows(self) -> list[tuple[str, str]]:
        """Return the workflow names and workflow ids that there are checkpoints of."""
        return list(await self.checkpoints.workflows())

    async def each(self, function: Callable[[ItemT], Awaitable[ResultT]], items: Iterable[ItemT]) -> list[ResultT]:
        """Return the results of calls that read the store, in the order of the items; a bounded number at once."""
        turns = asyncio.Semaphore(_READS_AT_ONCE)

        async def one(item: ItemT) -> ResultT:
            async with turns:
                return await function(item)

        return list(await asyncio.gather(*map(one, items)))

    def unknown(self, workflow_id: str) -> CliError:
        """Return the error that there are no checkpoints of a workflow id."""
        return CliError(
            ExitCode.NOT_FOUND,
            f"there are no checkpoints of {workflow_id!r} in {self.place}. `temporal-adapter checkpoint list` shows "
            "what there is; another namespace has its own.",
        )

    @property
    def place(self) -> str:
        """The store and namespace, for messages."""
        return f"{self.blobs.url} (namespace {self.namespace!r})"


def opened(options: StoreOptions, *, make: bool = False) -> Opened:
    """Open the store that options name.

    Args:
        options: The options.
        make: Whether a directory that is not there is to be made.

    Raises:
        CliError: There is no such store, or no such codec.
        StoreError: It cannot be opened.
        ConnectionFailed: Temporal's configuration, which has the namespace, cannot be read.
    """
    namespace = options.namespace or configured_namespace(options.profile)
    _check_is_there(options.checkpoint_store, make=make)
    blobs = BlobStore(options.checkpoint_store, payload_codec=payload_codec(options))
    return Opened(blobs, namespace, CheckpointStore(blobs, namespace), ValueStore(blobs, namespace))


def _check_is_there(url: str, *, make: bool) -> None:
    parts = urlsplit(url)
    if parts.scheme == "memory":
        raise CliError(ExitCode.USAGE, f"{url} is the memory of another process, which cannot be read here. {_FIX}")
    folder = Path(unquote(parts.path)) if parts.scheme == "file" else Path(url).expanduser()
    if parts.scheme in ("", "file") and not folder.is_dir():
        if make and not folder.exists():
            tell(f"There is no directory {url}: it is made.")
            return
        raise CliError(ExitCode.UNREACHABLE, f"there is no checkpoint store at {url}: no such directory. {_FIX}")
