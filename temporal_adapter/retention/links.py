"""Which runs are links of one run (continue-as-new), by what the store and the server know. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from temporal_adapter import wire
from temporal_adapter.store import last_link, links_after

from .runs import Known, Run


class Links:
    """Finds the last link of a run, whose state is that of all its links.

    Args:
        entries: Of runs, from the store.
        known: What the server has.
    """

    def __init__(self, entries: Iterable[wire.RunEntry], known: Known) -> None:
        self._known = known
        self._after = links_after(entries)
        self._ends = {
            (workflow_id, known.chains[workflow_id, run_id]): (workflow_id, run_id)
            for workflow_id, run_id in known.states
            if (workflow_id, run_id) in known.chains and (workflow_id, run_id) not in known.left
        }

    def last(self, run: Run) -> Run:
        """Return the last link that is known of."""
        run = last_link(run, self._after)
        return self._ends.get((run[0], self._known.chains.get(run, "")), run)
