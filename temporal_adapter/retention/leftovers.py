"""Entries and marks that stand for nothing any more, once checkpoints have gone. Pure; deletes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from temporal_adapter.store.blobs import Entry
from temporal_adapter.store.names import index_object, segment

from .needs import States
from .policy import Found, Policy, is_older
from .runs import Known
from .survey import Survey
from .sweeping import is_old


class Leftovers:
    """The small objects of a namespace beside its checkpoints.

    Args:
        namespace: The namespace.
        survey: What the store has.
        found: Its checkpoints.
        staying: The ids of those that stay.
        known: What the server has.
    """

    def __init__(
        self, namespace: str, survey: Survey, found: Sequence[Found], staying: Collection[str], known: Known
    ) -> None:
        self._namespace = namespace
        self._survey = survey
        self._going = [one for one in found if one.id not in staying]
        staying_ones = [one for one in found if one.id in staying]
        damaged = [entry.name.split("/")[-2] for entry in survey.damaged]
        # Names have ids as segments, and a segment may be cut, so segments are compared.
        self._kept_ids = {*(segment(one.id) for one in staying_ones), *damaged}
        self._there = {segment(one.id) for one in found} | self._kept_ids
        self._run_ids = {run_id for one in staying_ones for run_id in one.run_ids}
        self._live_runs = {segment(one) for one in [*self._run_ids, *(run_id for _, run_id in known.open)]}
        self._live_workflows = {
            segment(one) for one in [*(one.workflow_id for one in staying_ones), *(id_ for id_, _ in known.open)]
        }

    def index_of_going(self) -> list[Entry]:
        """Return the index entries of the checkpoints that go; they go with them."""
        names = {index_object(self._namespace, one.workflow_name, one.workflow_id, one.id) for one in self._going}
        return [entry for entry in self._survey.index if entry.name in names]

    def runs(self, states: States, policy: Policy) -> list[Entry]:
        """Return the entries of runs that the policy lets go and that no checkpoint is left of; never of open ones."""
        return [
            entry
            for entry, run in self._survey.runs
            if run.run_id not in self._run_ids
            and (state := states.of_run(run.workflow_id, run.run_id)) in policy.states
            and state != "open"
            and policy.workflow_name in (None, run.workflow_name)
            and (policy.before is None or is_older(run.at, policy.before))
        ]

    def strays(self, now: datetime) -> list[Entry]:
        """Return old index entries without a checkpoint, and old marks, of runs that nothing else is left of."""
        return [entry for entry in [*self._stray_index(), *self._stray_marks()] if is_old(entry, now)]

    def _stray_index(self) -> Iterable[Entry]:
        for entry in self._survey.index:
            *_, workflow_id, checkpoint_id = entry.name.split("/")
            if checkpoint_id not in self._there and workflow_id not in self._live_workflows:
                yield entry

    def _stray_marks(self) -> Iterable[Entry]:
        for entry in self._survey.marks:
            *_, checkpoint_id, run_id = entry.name.split("/")
            if checkpoint_id not in self._kept_ids and run_id not in self._live_runs:
                yield entry
