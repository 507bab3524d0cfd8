"""Which runs of a namespace are the adapter's: another team's workflows may be in it too.

A workflow type is the adapter's or it is not, whichever run of it one looks at. What a run's history shows at its
beginning tells: activities by the grammar of `wire.names`. Where it shows nothing yet, a query that only the adapter's
workflows know.
"""

from __future__ import annotations

from datetime import timedelta

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.common import QueryRejectCondition
from temporalio.service import RPCError

from temporal_adapter.histories import shows_ours
from temporal_adapter.wire.names import NOT_REGISTERED

_FIRST_EVENTS = 50  # of a history, in which an activity is named if there is any
_QUERY_TIMEOUT = timedelta(seconds=3)
_KNOWN_ONLY_HERE = "checkpoints"


class Kinds:
    """Tells the adapter's workflow types from others; remembers what it found."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, bool] = {}

    async def is_ours(self, workflow_name: str, workflow_id: str, run_id: str) -> bool | None:
        """Return whether a run's workflow type is the adapter's; None while nothing tells, since no worker was at it.

        Raises:
            temporalio.service.RPCError: The server refuses.
        """
        if workflow_name not in self._known:
            found = await self._look(workflow_name, workflow_id, run_id)
            if found is None:
                return None
            self._known[workflow_name] = found
        return self._known[workflow_name]

    async def _look(self, workflow_name: str, workflow_id: str, run_id: str) -> bool | None:
        answer = await self._client.workflow_service.get_workflow_execution_history(
            GetWorkflowExecutionHistoryRequest(
                namespace=self._client.namespace,
                execution=WorkflowExecution(workflow_id=workflow_id, run_id=run_id),
                maximum_page_size=_FIRST_EVENTS,
            )
        )
        events = answer.history.events
        if not any(event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED for event in events):
            return None
        if shows_ours(workflow_name, events):
            return True
        return await self._answers(workflow_id, run_id)

    async def _answers(self, workflow_id: str, run_id: str) -> bool | None:
        """Ask the run itself: an idle session, say, whose history has nothing yet."""
        handle = self._client.get_workflow_handle(workflow_id, run_id=run_id)
        try:
            await handle.query(_KNOWN_ONLY_HERE, reject_condition=QueryRejectCondition.NONE, rpc_timeout=_QUERY_TIMEOUT)
        except WorkflowQueryFailedError as error:
            return None if NOT_REGISTERED in str(error) else False
        except RPCError:  # nobody there to answer
            return None
        return True
