"""What the blob store is owed beside what deliveries write to it, and the commits that bring it there, one at a time.

Decides neither when a run is at rest nor what is recorded; keeps the books of what is still to be written.
"""

from __future__ import annotations

from collections.abc import Sequence

from temporal_adapter import wire
from temporal_adapter.wire.names import path_text

from .decisions import Commit
from .dispatch import Dispatch
from .level import Level
from .recorder import Recorder


class Commits:
    """Checkpoints to discard, the mark of a run's end, and supersteps that wait for a commit.

    Attributes:
        held: Levels whose superstep waits for a commit, to build on what that writes.
        describes: The graph goes along with commits, since the workers have another.
    """

    def __init__(self, recorder: Recorder, dispatch: Dispatch) -> None:
        self.held: list[Level] = []
        self.describes = False
        self._recorder = recorder
        self._dispatch = dispatch
        self._discard: list[str] = []  # checkpoints that an abandoned activity may write
        self._ended: wire.Ended | None = None  # until a commit has it
        # With the commit under way:
        self._under_way = False
        self._discarding = 0  # so many of those to discard, the first ones
        self._marking: wire.Ended | None = None
        self._stowing: list[str] = []  # the sub-workflows whose entries it has; "" where the run was abandoned since

    @property
    def owed(self) -> bool:
        """Whether the store lacks anything."""
        return bool(self._recorder.lineage.unmirrored or self._discard or self._ended is not None)

    @property
    def under_way(self) -> bool:
        """Whether a commit is with an activity."""
        return self._under_way

    @property
    def wanted(self) -> bool:
        """Whether no delivery will bring the store what it lacks."""
        return self._recorder.troubled or self._dispatch.stuck or bool(self.held)

    def discard(self, checkpoint_id: str) -> None:
        """A checkpoint was promised to an activity, and will not be."""
        self._discard.append(checkpoint_id)

    def mark_ended(self, ended: wire.Ended) -> None:
        """The store is to know how the run ended."""
        self._ended = ended

    def nothing_to_discard(self) -> None:
        """Whatever was to be discarded never was."""
        self._discard = []

    def nothing_to_tell(self) -> None:
        """The store knows nothing of the run."""
        self._discard, self._ended = [], None

    def abandon(self, levels: Sequence[Level] | None = None) -> None:
        """No superstep of these levels, or of any, waits for a commit any more."""
        if levels is None:
            self.held = []
            return
        self.held = [one for one in self.held if one not in levels]
        abandoned = [path_text(one.path) for one in levels]
        self._stowing = ["" if path in abandoned else path for path in self._stowing]

    def next(self, graph: wire.Graph) -> Commit | None:
        """Return the commit that is due; None while one is under way, or where nothing is owed."""
        if self._under_way:
            return None
        records = self._recorder.lineage.carry()
        stow = [self._stow(level) for level in self.held if level.path]
        ended = self._ended if len(records) == self._recorder.lineage.unmirrored else None
        if not (records or self._discard or stow or ended is not None):
            return None
        self._under_way, self._marking, self._discarding = True, ended, len(self._discard)
        self._stowing = [one.path for one in stow]
        discard = list(self._discard)
        return Commit(
            wire.CommitInput(
                graph=graph.signature,
                described=graph if self.describes else None,
                records=records,
                discard=discard,
                stow=stow,
                ended=ended,
            )
        )

    def _stow(self, level: Level) -> wire.Stow:
        snapshot = wire.Snapshot(base=self._recorder.base, changes=self._dispatch.changes_of(level.path))
        return wire.Stow(path=path_text(level.path), snapshot=snapshot)

    def settle(self, outcome: wire.CommitOutcome, stowed: tuple[wire.Value, ...]) -> list[Level]:
        """The commit ended; return the levels whose superstep waited for it."""
        self._discard = self._discard[self._discarding :]
        stowing, self._stowing = self._stowing, []
        self._under_way, self._discarding = False, 0
        if self._marking is not None and self._marking is self._ended:  # else there is a later one
            self._ended = None
        self._marking = None
        self._recorder.settle(outcome)
        if self.held:  # else the superstep was abandoned meanwhile
            for path, value in zip(stowing, stowed, strict=True):
                if path:
                    self._dispatch.aside.stowed(path, value)
        held, self.held = self.held, []
        return held
