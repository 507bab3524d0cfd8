"""Starting, following and answering runs from Python. Needs no workflow code, only the workflow's name.

Everything here goes through what Temporal offers to any client: start, result, queries `status`, `requests`,
`checkpoints` and `events`, updates `respond` and `retry`. Payloads come back as the types they had where this process
has loaded those types, and as plain JSON where it has not.
"""

from .errors import (
    CancelRefused,
    InputRefused,
    NoWorker,
    ResponseRefused,
    ResumeRefused,
    RetryRefused,
    RunNotFound,
    SessionRefused,
    UnknownWorkflow,
    ValueUnavailable,
)
from .run import DurableRun
from .session import DurableSession
from .streaming import AttemptAbandoned
from .told import Accepted, Answered, CheckpointInfo, FailedExecutor, RunStatus
from .workflow import DurableWorkflow

__all__ = [
    "Accepted",
    "Answered",
    "AttemptAbandoned",
    "CancelRefused",
    "CheckpointInfo",
    "DurableRun",
    "DurableSession",
    "DurableWorkflow",
    "FailedExecutor",
    "InputRefused",
    "NoWorker",
    "ResponseRefused",
    "ResumeRefused",
    "RetryRefused",
    "RunNotFound",
    "RunStatus",
    "SessionRefused",
    "UnknownWorkflow",
    "ValueUnavailable",
]
