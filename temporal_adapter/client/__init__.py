"""Starting, following and answering runs from Python. Needs no workflow code, only the workflow's name.

Everything here goes through what Temporal offers to any client: start, result, queries `status`, `requests`,
`checkpoints` and `events`, update `respond`. Payloads come back as the types they had where this process has loaded
those types, and as plain JSON where it has not.
"""

from .errors import NoWorker, ResponseRefused, RunNotFound, UnknownWorkflow, ValueUnavailable
from .run import Accepted, CheckpointInfo, DurableRun, RunStatus
from .workflow import DurableWorkflow

__all__ = [
    "Accepted",
    "CheckpointInfo",
    "DurableRun",
    "DurableWorkflow",
    "NoWorker",
    "ResponseRefused",
    "RunNotFound",
    "RunStatus",
    "UnknownWorkflow",
    "ValueUnavailable",
]
