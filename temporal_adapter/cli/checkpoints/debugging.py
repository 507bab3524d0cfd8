"""Running a checkpoint on in this very process, by MAF's own runner, for `checkpoint debug`.

Everything of the run is on the main thread with the terminal's input attached, so that `breakpoint()` in an executor
opens the debugger. New checkpoints stay in memory; the store is only read. What the run shows is in `debug_events`.
"""

from __future__ import annotations

import bdb
import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from agent_framework import Workflow, WorkflowCheckpoint, WorkflowCheckpointException, WorkflowExecutor

from temporal_adapter import wire
from temporal_adapter.attributes import Attributes
from temporal_adapter.checkpoints import BlobCheckpointStorage
from temporal_adapter.cli import output
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.loading import ObjectNotFound, described, find_factory, find_object
from temporal_adapter.values import CoercionError, DecodeError, coerce_response, graph_codec
from temporal_adapter.wire.names import path_text

from .debug_events import Watched
from .given import given_responses
from .opened import Opened

_WARNING = (
    "Executors of {name!r} now run for real, in this process ({process}), with all their side effects. "
    "Nothing is written to {store}."
)


async def debugged(
    store: Opened, checkpoint_id: str, workflow: str, respond: Sequence[str], types: Sequence[str], as_json: bool
) -> ExitCode:
    """Run a checkpoint on, and print what it shows.

    Args:
        store: Where it is; nothing is written to it.
        checkpoint_id: Its id.
        workflow: The name of the factory of its workflow.
        respond: Responses to its pending requests, as `REQUEST_ID=JSON`.
        types: The names of further classes that may be stored.
        as_json: Whether to print one JSON document; whatever executors print then goes to the error output.

    Raises:
        CliError: One of these is wrong, or the checkpoint cannot be loaded.
        StoreError: The store cannot be read.
    """
    manifest = await store.manifest(checkpoint_id)
    graph = _built(workflow)
    _check_graph(graph, workflow, manifest)
    classes = [_object(name) for name in types]
    storage = BlobCheckpointStorage(
        store.blobs,
        workflow=graph,
        namespace=store.namespace,
        workflow_id=manifest.workflow_id,
        read_only=True,
        types=classes,
    )
    checkpoint = await _loaded(storage, checkpoint_id)
    responses = _responses(respond, checkpoint)
    await _restore_attributes(store, graph, manifest, classes)
    tell(_WARNING.format(name=graph.name, process=os.getpid(), store=store.blobs.url))
    watched = Watched(checkpoint_id, quiet=as_json)
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        code = await _run(graph, storage, checkpoint_id, responses, watched)
    if as_json:
        output.print_json(watched.document())
    return code


async def _run(
    graph: Workflow, storage: BlobCheckpointStorage, checkpoint_id: str, responses: dict[str, Any], watched: Watched
) -> ExitCode:
    try:
        async for event in graph.run(
            stream=True, checkpoint_id=checkpoint_id, checkpoint_storage=storage, responses=responses or None
        ):
            watched.see(event, answered=responses.keys())
    except bdb.BdbQuit:
        tell("Left in the debugger.")
        return ExitCode.INTERRUPTED
    except WorkflowCheckpointException as error:
        raise CliError(ExitCode.UNREACHABLE, str(error)) from error
    except Exception as error:  # whatever an executor raises; its stack trace is what the person is after
        watched.fail(error)
        traceback.print_exception(error, file=sys.stderr)
        return ExitCode.FINDING
    watched.end()
    return ExitCode.OK


def _object(name: str) -> Any:
    try:
        return find_object(name)
    except ObjectNotFound as error:
        raise CliError(ExitCode.USAGE, f"--type: {error}") from error


def _built(name: str) -> Workflow:
    try:
        source = find_factory(name)
    except ObjectNotFound as error:
        raise CliError(ExitCode.USAGE, f"--workflow: {error}") from error
    try:
        built: Any = source if isinstance(source, Workflow) else source()
    except Exception as error:  # whatever a user's factory raises
        raise CliError(ExitCode.USAGE, f"--workflow: {name!r} cannot build its workflow: {described(error)}") from error
    if not isinstance(built, Workflow):
        raise CliError(
            ExitCode.USAGE,
            f"--workflow: {name!r} returned {type(built).__name__}, not a Workflow; does it miss .build()?",
        )
    return built


def _check_graph(graph: Workflow, name: str, manifest: wire.Manifest) -> None:
    checkpoint_id = manifest.header.checkpoint_id
    if graph.name != manifest.workflow_name:
        raise CliError(
            ExitCode.USAGE,
            f"--workflow: checkpoint {checkpoint_id!r} is of workflow {manifest.workflow_name!r}, and {name!r} builds "
            f"{graph.name!r}.",
        )
    if graph.graph_signature_hash != manifest.graph_signature:
        raise CliError(
            ExitCode.USAGE,
            f"--workflow: {name!r} builds another graph than that of checkpoint {checkpoint_id!r}: executor ids, "
            "types, edges or condition names differ. Check out the release that wrote it.",
        )


async def _loaded(storage: BlobCheckpointStorage, checkpoint_id: str) -> WorkflowCheckpoint:
    try:
        return await storage.load(checkpoint_id)
    except WorkflowCheckpointException as error:
        raise CliError(ExitCode.UNREACHABLE, str(error)) from error


def _responses(given: Sequence[str], checkpoint: WorkflowCheckpoint) -> dict[str, Any]:
    """Return what `--respond` says, by request id, as objects of the requests' response types."""
    pending = checkpoint.pending_request_info_events
    responses: dict[str, Any] = {}
    for request_id, answer in given_responses(given, pending, checkpoint.checkpoint_id).items():
        try:
            responses[request_id] = coerce_response(answer, pending[request_id])
        except CoercionError as error:
            raise CliError(ExitCode.USAGE, f"--respond: {error}") from error
    return responses


async def _restore_attributes(store: Opened, graph: Workflow, manifest: wire.Manifest, types: Sequence[type]) -> None:
    """Set what handlers had changed of executors without hooks: MAF's own restore knows nothing of it."""
    codec = graph_codec(graph, types)
    levels: list[tuple[tuple[str, ...], Workflow, wire.SnapshotEntries]] = [((), graph, manifest)]
    while levels:
        path, workflow, entries = levels.pop()
        for executor_id, executor in workflow.executors.items():
            value = entries.attributes.get(executor_id)
            if value is not None:
                recorded = await store.values.resolve(value)
                try:
                    Attributes(executor, codec).restore(recorded)
                except DecodeError as error:
                    place = path_text((*path, executor_id))
                    raise CliError(ExitCode.UNREACHABLE, f"the attributes of executor {place}: {error}") from error
            if isinstance(executor, WorkflowExecutor):
                below = (*path, executor_id)
                child = manifest.children.get(path_text(below), wire.SnapshotEntries())
                levels.append((below, executor.workflow, child))
