"""Replaying recorded histories against this release, before it is deployed: what a run would do differently, and where.

    for one in await replay([HistoryFile("histories/greet-ada.json")]):
        print(one)

Neither server nor worker, neither MAF nor the user's code takes part, unless a `Release` names plugins that do.
"""

from .reading import DamagedHistory, NoHistories, history_files, read_history
from .replays import AT_ONCE, HistoryFile, Release, Source, replay
from .verdicts import FAILING, Divergence, Outcome, Replayed, failing

__all__ = [
    "AT_ONCE",
    "FAILING",
    "DamagedHistory",
    "Divergence",
    "HistoryFile",
    "NoHistories",
    "Outcome",
    "Release",
    "Replayed",
    "Source",
    "failing",
    "history_files",
    "read_history",
    "replay",
]
