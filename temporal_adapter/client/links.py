"""A run that goes on as new Temporal runs is one run all the same: what its last link does not tell of the whole."""

from __future__ import annotations

from datetime import datetime

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionDescription
from temporalio.service import RPCError, RPCStatusCode


async def started_at(client: Client, execution: WorkflowExecution) -> datetime:
    """Return when the run began that an execution is the last link of; when that did, where the first one is gone.

    Raises:
        temporalio.service.RPCError: The server refuses.
    """
    try:
        if not isinstance(execution, WorkflowExecutionDescription):  # a list does not tell of links
            execution = await client.get_workflow_handle(execution.id, run_id=execution.run_id).describe()
        first = execution.raw_description.workflow_execution_info.first_run_id
        if not first or first == execution.run_id:
            return execution.start_time
        return (await client.get_workflow_handle(execution.id, run_id=first).describe()).start_time
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return execution.start_time  # the server keeps closed links for its retention time only
