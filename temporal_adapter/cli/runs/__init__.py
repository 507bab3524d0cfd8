"""The commands about runs, one module for each: `temporal-adapter start` is `start.py`.

What they share: `found` finds a run. They need the server; of the store, `doctor` alone.
"""

from __future__ import annotations

from . import cancel, doctor, list, move, pending, respond, start, watch

__all__ = ["cancel", "doctor", "list", "move", "pending", "respond", "start", "watch"]
