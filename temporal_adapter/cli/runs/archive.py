"""What earlier Temporal runs of a run left of its events and outputs in the checkpoint store, for who follows the run.

The store is opened when there is something to read in it, so that other runs can be watched without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from temporal_adapter import wire
from temporal_adapter.answers import page_of_outputs
from temporal_adapter.cli.checkpoints.opened import Opened, opened
from temporal_adapter.cli.options import StoreOptions
from temporal_adapter.cli.running import CliError, tell
from temporal_adapter.store import StoreError


class Archive:
    """Reads these pages. One that cannot be read is told of, and left out.

    Args:
        options: Name the store.
    """

    def __init__(self, options: StoreOptions) -> None:
        self._options = options
        self._store: Opened | None = None
        self._told: set[str] = set()

    async def events(self, page: wire.ArchivedPage) -> Sequence[wire.Event] | None:
        """Return the events of a page; None if it cannot be read."""
        items = await self._items(page, "Events")
        return None if items is None else [wire.load(wire.Event, item) for item in items]

    async def outputs(self, page: wire.ArchivedPage) -> Sequence[Any]:
        """Return the outputs of a page in plain JSON; of one that cannot be read, where it is, for each."""
        items = await self._items(page, "Outputs")
        if items is None:
            return [{"ref": page.page.ref, "size": page.page.size}] * (page.next - page.first)
        values = [None if item is None else wire.load(wire.Value, item) for item in items]
        outputs: list[Any] = []
        while some := page_of_outputs(values, len(outputs)):
            outputs += some
        return outputs

    async def _items(self, page: wire.ArchivedPage, what: str) -> list[Any] | None:
        try:
            if self._store is None:
                self._store = opened(self._options)
            return await self._store.values.resolve(page.page)
        except (CliError, StoreError) as error:
            if str(error) not in self._told:
                self._told.add(str(error))
                tell(f"{what} {page.first} to {page.next - 1} are in the checkpoint store, and not shown: {error}")
            return None
