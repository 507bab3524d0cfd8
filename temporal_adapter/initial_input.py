"""The source that a workflow's input comes from, for start executors that do something else with it.

Works in-process and on Temporal alike: what a handler is told of its source is MAF's own. What must never be here:
Temporal, and any knowledge of runs.
"""

from __future__ import annotations

from typing import Any

from agent_framework import INTERNAL_SOURCE_ID, WorkflowContext

from temporal_adapter import maf


def internal_source_id(executor_id: str) -> str:
    """Return the source id that an executor sees on what MAF itself gives it: `internal:<executor id>`.

    A start executor sees it on the workflow's input, and every executor on the responses to its requests. It is the
    key under which a checkpoint's `messages` hold them.

    Args:
        executor_id: The id of the executor that receives.
    """
    return INTERNAL_SOURCE_ID(executor_id)


def is_initial_input(ctx: WorkflowContext[Any, Any]) -> bool:
    """Whether a handler runs on the input of its workflow, and not on a message of an executor or a response.

    Call it in a handler or response handler. It is also true where the run begins again from its entry checkpoint,
    and in the start executor of a sub-workflow, whose input is the message that the wrapping executor was given. In
    a start executor that edges lead back to, it tells the input from what comes later.

    Args:
        ctx: The context that the handler was given.
    """
    return ctx.request_id is None and ctx.source_executor_ids == [internal_source_id(maf.executor_id_of(ctx))]
