"""The one module that imports private MAF names, each with the reason why no public one serves.

An upgrade of `agent-framework-core` that moves one of them fails here, at import, and in `tests/unit/test_maf.py`.
"""

from __future__ import annotations

# agent_framework.register_checkpoint_type fills this set in place; nothing public reads it.
from agent_framework._workflows._checkpoint_encoding import (
    _REGISTERED_CHECKPOINT_TYPE_KEYS as REGISTERED_CHECKPOINT_TYPE_KEYS,  # pyright: ignore[reportPrivateUsage]
)

# Kwargs of a run travel in shared state under these keys, which Workflow.run sets before the start executor.
from agent_framework._workflows._const import (
    EDGE_STATE_KEY,
    EXECUTOR_STATE_KEY,
    RESOLVED_WORKFLOW_RUN_KWARGS_KEY,
    ROUTED_WORKFLOW_RUN_KWARGS_KEY,
    WORKFLOW_RUN_KWARGS_KEY,
)

# Routing is MAF's own; its runners are not public.
from agent_framework._workflows._edge_runner import EdgeRunner, FanInEdgeRunner, create_edge_runner

# WorkflowMessage is public, the type of its `type` is not.
from agent_framework._workflows._runner_context import MessageType

# Executors are given a State; the class is not public.
from agent_framework._workflows._state import State

# What MAF accepts as a message or response, and how it turns JSON into one.
from agent_framework._workflows._typing_utils import is_instance_of, try_coerce_to_type

# The rules by which Workflow.run(responses=...) takes a response.
from agent_framework._workflows._workflow import (
    _coerce_request_info_response as coerce_request_info_response,  # pyright: ignore[reportPrivateUsage]
)

# The key under which a fan-in's snapshot holds its buffer.
FAN_IN_BUFFER_KEY = FanInEdgeRunner._BUFFER_KEY  # pyright: ignore[reportPrivateUsage]

__all__ = [
    "EDGE_STATE_KEY",
    "EXECUTOR_STATE_KEY",
    "FAN_IN_BUFFER_KEY",
    "REGISTERED_CHECKPOINT_TYPE_KEYS",
    "RESOLVED_WORKFLOW_RUN_KWARGS_KEY",
    "ROUTED_WORKFLOW_RUN_KWARGS_KEY",
    "WORKFLOW_RUN_KWARGS_KEY",
    "EdgeRunner",
    "FanInEdgeRunner",
    "MessageType",
    "State",
    "coerce_request_info_response",
    "create_edge_runner",
    "is_instance_of",
    "try_coerce_to_type",
]
