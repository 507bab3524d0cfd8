"""Microsoft Agent Framework workflows on Temporal.

    plugin = AgentFrameworkPlugin(workflows=[build_expense_approval])      # on a worker
    run = await DurableWorkflow(client, "expense-approval", task_queue="expenses").start(report)

Names are imported when first used: workflow code and replayers load this package without loading MAF.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checkpoints import BlobCheckpointStorage
    from .client import (
        Accepted,
        Answered,
        AttemptAbandoned,
        CancelRefused,
        CheckpointInfo,
        DurableRun,
        DurableSession,
        DurableWorkflow,
        FailedExecutor,
        InputRefused,
        NoWorker,
        ResponseRefused,
        ResumeRefused,
        RetryRefused,
        RunNotFound,
        RunStatus,
        SessionRefused,
        UnknownWorkflow,
        ValueUnavailable,
    )
    from .connection import ConnectionFailed, connect
    from .deadlines import Deadline, Reminder
    from .definitions import ConfigurationError
    from .drop_in import SessionWorkflow, durable
    from .idempotency import idempotency_key
    from .initial_input import internal_source_id, is_initial_input
    from .plugin import AgentFrameworkPlugin
    from .store import BlobStore, StoreError
    from .workflow import workflow_type

_HOMES = {
    "checkpoints": ("BlobCheckpointStorage",),
    "client": (
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
    ),
    "connection": ("ConnectionFailed", "connect"),
    "deadlines": ("Deadline", "Reminder"),
    "definitions": ("ConfigurationError",),
    "drop_in": ("SessionWorkflow", "durable"),
    "idempotency": ("idempotency_key",),
    "initial_input": ("internal_source_id", "is_initial_input"),
    "plugin": ("AgentFrameworkPlugin",),
    "store": ("BlobStore", "StoreError"),
    "workflow": ("workflow_type",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Accepted",
    "AgentFrameworkPlugin",
    "Answered",
    "AttemptAbandoned",
    "BlobCheckpointStorage",
    "BlobStore",
    "CancelRefused",
    "CheckpointInfo",
    "ConfigurationError",
    "ConnectionFailed",
    "Deadline",
    "DurableRun",
    "DurableSession",
    "DurableWorkflow",
    "FailedExecutor",
    "InputRefused",
    "NoWorker",
    "Reminder",
    "ResponseRefused",
    "ResumeRefused",
    "RetryRefused",
    "RunNotFound",
    "RunStatus",
    "SessionRefused",
    "SessionWorkflow",
    "StoreError",
    "UnknownWorkflow",
    "ValueUnavailable",
    "connect",
    "durable",
    "idempotency_key",
    "internal_source_id",
    "is_initial_input",
    "workflow_type",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
