"""The audit trail: what became of every response, cancellation and expiry, in order, for the life of the run.

Decides nothing. Refusals are kept up to a bound, since anybody may send any number of them.
"""

from __future__ import annotations

from temporal_adapter import wire

from .log import Log

REFUSALS_KEPT = 1000


class Audit:
    """Records, appended only; of refusals the last `REFUSALS_KEPT`."""

    def __init__(self) -> None:
        self.log: Log[wire.Responded] = Log()
        self._refusals = 0  # of those that are not in the blob store

    def add(self, record: wire.Responded) -> None:
        """Append a record."""
        self.log.append(record)
        if record.outcome != "refused":
            return
        self._refusals += 1
        if self._refusals > REFUSALS_KEPT:
            self.log.remove(next(place for place, one in enumerate(self.log.items) if one.outcome == "refused"))
            self._refusals -= 1

    def count_anew(self) -> None:
        """Records went to the blob store, or came from an earlier Temporal run."""
        self._refusals = sum(one.outcome == "refused" for one in self.log.items)

    @property
    def records(self) -> list[wire.Responded]:
        """The records that are not in the blob store, in order."""
        return list(self.log.items)
