"""The audit trail: what became of every response, cancellation and expiry, in order, for the life of the run.

Decides nothing. Refusals are kept up to a bound, since anybody may send any number of them.
"""

from __future__ import annotations

from temporal_adapter import wire

REFUSALS_KEPT = 1000


class Audit:
    """Records, appended only; of refusals the last `REFUSALS_KEPT`."""

    def __init__(self) -> None:
        self._records: list[wire.Responded] = []
        self._refusals = 0

    def add(self, record: wire.Responded) -> None:
        """Append a record."""
        self._records.append(record)
        if record.outcome != "refused":
            return
        self._refusals += 1
        if self._refusals > REFUSALS_KEPT:
            oldest = next(place for place, one in enumerate(self._records) if one.outcome == "refused")
            del self._records[oldest]
            self._refusals -= 1

    @property
    def records(self) -> list[wire.Responded]:
        """All records, in order."""
        return list(self._records)
