"""`temporal-adapter checkpoint`: one module for each command. `opened` finds checkpoints, `view` makes them plain."""

from __future__ import annotations

from . import debug, diff, graph, list, show
from .group import group

__all__ = ["debug", "diff", "graph", "group", "list", "show"]
