"""The approvals inbox in the browser: open requests of all runs, a page for each, and the same as JSON.

An ASGI application over a Temporal client, made by `application`. It keeps nothing: what it shows comes from the runs,
and an answer is the update `respond`. Workflow code, workers and the checkpoint store's upkeep do not belong here.
"""

from .application import application
from .guard import Guard
from .runs import Runs

__all__ = ["Guard", "Runs", "application"]
