"""`temporal-adapter checkpoint`: one module for each command.

What they share: `opened` finds checkpoints, `view` makes them plain, `connected` finds the server, `given` reads what
was typed as JSON, `starting` is of the commands that start runs, `recovering` of those that mend.
"""

from __future__ import annotations

from . import adopt, debug, diff, fork, graph, list, migrate, prune, rebuild, replay, resume, show, verify
from .group import group

# As `--help` shows them.
_ORDER = (
    *("list", "show", "diff", "graph", "debug"),
    *("resume", "replay", "fork", "migrate"),
    *("verify", "rebuild", "adopt", "prune"),
)
group.registered_commands.sort(key=lambda one: _ORDER.index(one.name or ""))

__all__ = [
    "adopt",
    "debug",
    "diff",
    "fork",
    "graph",
    "group",
    "list",
    "migrate",
    "prune",
    "rebuild",
    "replay",
    "resume",
    "show",
    "verify",
]
