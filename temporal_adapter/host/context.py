"""What the activities of one MAF workflow share on one worker: its pooled graphs and the blob store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

from temporalio import activity
from temporalio.exceptions import ApplicationError

from temporal_adapter.deadlines import Deadline
from temporal_adapter.pool import BuiltGraph, GraphPool
from temporal_adapter.store import BlobStore, CheckpointStore, ValueStore
from temporal_adapter.wire.names import GRAPH_CHANGED

OnFailure = Literal["fail", "wait"]
"""What a run does when an executor's last attempt fails: fail with its error, or wait for an operator's `retry`."""


def now() -> str:
    """Return the present time as results record it: ISO 8601 in UTC, to the microsecond."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Stores:
    """The blob store's two sides, for one Temporal namespace."""

    values: ValueStore
    checkpoints: CheckpointStore


class Host:
    """The activities' surroundings. One per MAF workflow and plugin."""

    def __init__(
        self,
        name: str,
        pool: GraphPool,
        blobs: BlobStore,
        on_failure: OnFailure = "fail",
        *,
        deadlines: Sequence[Deadline] = (),
        request_link: str | None = None,
        counts_requests: bool = False,
    ) -> None:
        self.name = name
        self.deadlines = deadlines  # of requests
        self.request_link = request_link  # where they are answered: has {workflow_id} and {request_id}
        self.counts_requests = counts_requests  # whether runs keep the search attribute of pending requests
        self.pool = pool
        self.on_failure: OnFailure = on_failure  # of an executor, unless the run says
        self._blobs = blobs
        self._stores: dict[tuple[str, int], Stores] = {}  # by namespace and codec, which its stores keep alive

    def stores(self) -> Stores:
        """Return the stores for the namespace of the activity that runs now, through the codec of its client."""
        namespace, codec = activity.info().namespace, activity.client().data_converter.payload_codec
        key = namespace, id(codec)
        if key not in self._stores:
            blobs = BlobStore.of(self._blobs, codec)
            values = ValueStore(blobs, namespace)
            self._stores[key] = Stores(values, CheckpointStore(blobs, namespace))
        return self._stores[key]

    @asynccontextmanager
    async def graph(self, signature: str) -> AsyncGenerator[BuiltGraph, None]:
        """Lend a graph with this signature.

        Raises:
            ApplicationError: This worker's graph of that name is another one.
        """
        async with self.pool.borrow() as graph:
            if graph.workflow.graph_signature_hash != signature:
                raise ApplicationError(
                    f"This worker's graph of workflow {self.name!r} (signature "
                    f"{graph.workflow.graph_signature_hash[:12]}) is not the one the run was started with "
                    f"({signature[:12]}). Run workers with the graph of that release until its runs have ended.",
                    type=GRAPH_CHANGED,
                    non_retryable=True,  # the workflow tries again, in its own time
                )
            yield graph
