"""Which runs are links of one run (continue-as-new), by what the store and the server know. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from temporal_adapter import wire

from .runs import Known, Run


class Links:
    """Finds the last link of a run, whose state is that of all its links.

    Args:
        entries: Of runs, from the store.
        known: What the server has.
    """

    def __init__(self, entries: Iterable[wire.RunEntry], known: Known) -> None:
        self._known = known
        self._next = {
            (entry.workflow_id, entry.continued.run_id): (entry.workflow_id, entry.run_id)
            for entry in entries
            if entry.continued is not None
        }
        self._ends = {
            (workflow_id, known.chains[workflow_id, run_id]): (workflow_id, run_id)
            for workflow_id, run_id in known.states
            if (workflow_id, run_id) in known.chains and (workflow_id, run_id) not in known.left
        }

    def last(self, run: Run) -> Run:
        """Return the last link that is known of."""
        passed = {run}
        while (following := self._next.get(run)) is not None and following not in passed:
            run = following
            passed.add(run)
        return self._ends.get((run[0], self._known.chains.get(run, "")), run)
