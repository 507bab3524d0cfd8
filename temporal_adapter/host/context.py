"""What the activities of one MAF workflow share on one worker: its pooled graphs and the blob store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.exceptions import ApplicationErrorCategory as Category

from temporal_adapter.deadlines import Deadline
from temporal_adapter.graph_changes import details
from temporal_adapter.migration import OnGraphChange
from temporal_adapter.pool import BuiltGraph, GraphPool
from temporal_adapter.store import BlobStore, CheckpointStore, ValueStore
from temporal_adapter.wire.names import GRAPH_CHANGED, GRAPH_MIGRATES, GRAPH_REFUSED

OnFailure = Literal["fail", "wait"]
"""What a run does when an executor's last attempt fails: fail with its error, or wait for an operator's `retry`."""

DEFAULT_CONTINUES_AFTER = 10_000
"""After Temporal suggests it (4,096 events), before it warns (10,240), and far from where it ends a run (51,200)."""


_WAIT = GRAPH_CHANGED, "Run workers with the graph of that release until its runs have ended."


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
        moves: bool = False,
        continues_after: int | None = None,
        on_graph_change: OnGraphChange = "wait",
    ) -> None:
        self.name = name
        self.on_graph_change = on_graph_change  # for a run whose graph is another one than this worker's
        self.deadlines = deadlines  # of requests
        self.request_link = request_link  # where they are answered: has {workflow_id} and {request_id}
        self.counts_requests = counts_requests  # whether runs keep the search attribute of pending requests
        self.moves = moves  # whether runs move to a newer build of the workers, at a checkpoint
        # History events after which a run goes on as a new one, if Temporal has not suggested it before.
        self.continues_after = DEFAULT_CONTINUES_AFTER if continues_after is None else continues_after
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
        """Lend a graph with this signature: the run's.

        Raises:
            ApplicationError: This worker's graph of that name is another one. Its type says what the run is to do, and
                its details what graph the worker has.
        """
        async with self.pool.borrow() as graph:
            if graph.workflow.graph_signature_hash != signature:
                raise self.other_graph(graph, signature)
            yield graph

    def other_graph(self, graph: BuiltGraph, signature: str, *, waits: bool = False) -> ApplicationError:
        """Return the error for a run whose graph has this signature, and not that of the worker's graph.

        It is never tried again by Temporal: the workflow does that, in its own time. With `waits` that is all it does,
        whatever the worker is told to do about a changed graph. The workflow tells of a wait, once; so the worker's log
        has no stack trace for each try.
        """
        error_type, advice = _WAIT if waits else self._on_graph_change()
        category = Category.UNSPECIFIED if error_type == GRAPH_REFUSED else Category.BENIGN
        return ApplicationError(
            f"This worker's graph of workflow {self.name!r} (signature {graph.workflow.graph_signature_hash[:12]}) is "
            f"not the one the run was started with ({signature[:12]}). {advice}",
            *details(graph.description()),
            type=error_type,
            non_retryable=True,
            category=category,
        )

    def _on_graph_change(self) -> tuple[str, str]:
        if self.on_graph_change == "wait":
            return _WAIT
        if self.on_graph_change == "fail":
            return GRAPH_REFUSED, 'The worker is told to fail such a run: on_graph_change="fail".'
        return GRAPH_MIGRATES, "The worker is told to migrate such a run."
