"""Tests of your own graphs: held to MAF, on a real Temporal server, and against the histories of their runs.

    await assert_same_as_in_process(build_expense_approval, Script(report, answers={"approval": Decision(True)}))

runs a graph with MAF's own runner and on Temporal, compares all that both show, and says in words where they first
differ (docs/conformance.md). `replay`, `record_history` and `assert_replays` are about recorded histories, and the
fixtures `temporal_env`, `temporal_client` and `agent_worker` are pytest's (docs/replay.md).
`pip install agent-framework-temporal[testing]` is all of it.

Names are imported when first used: pytest loads this package in every project that has it installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conformance import assert_same_as_in_process
    from .observed import Observed
    from .recorded import assert_replays, record_history, replay
    from .script import Answers, Script, UnfitForComparison
    from .server import NoServer, local_server, workflow_environment
    from .serving import agent_worker

_HOMES = {
    "conformance": ("assert_same_as_in_process",),
    "observed": ("Observed",),
    "recorded": ("assert_replays", "record_history", "replay"),
    "script": ("Answers", "Script", "UnfitForComparison"),
    "server": ("NoServer", "local_server", "workflow_environment"),
    "serving": ("agent_worker",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answers",
    "NoServer",
    "Observed",
    "Script",
    "UnfitForComparison",
    "agent_worker",
    "assert_replays",
    "assert_same_as_in_process",
    "local_server",
    "record_history",
    "replay",
    "workflow_environment",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
