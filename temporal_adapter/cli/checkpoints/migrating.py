"""Carrying a checkpoint over, for `checkpoint migrate`: what is needed is loaded, the new checkpoint written and told.

How a checkpoint is migrated is `host.migrate`'s, as in workers.
"""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from temporalio.exceptions import ApplicationError

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.options import DEFAULT_CHECKPOINT_STORE, StoreOptions
from temporal_adapter.cli.running import CliError, ExitCode
from temporal_adapter.connection import DEFAULT_NAMESPACE
from temporal_adapter.definitions import ConfigurationError, define
from temporal_adapter.graph_changes import difference, graph_of
from temporal_adapter.host.context import Stores
from temporal_adapter.host.migrate import MigrationRefused, migrated_record
from temporal_adapter.loading import ObjectNotFound, described, find_factory, find_migration, find_object
from temporal_adapter.migration import Migration
from temporal_adapter.pool import BuiltGraph, GraphPool
from temporal_adapter.store import RECORDED_RANK

from .opened import Opened


async def migrate(
    store: Opened,
    options: StoreOptions,
    checkpoint_id: str,
    workflow: str,
    function: str,
    types: Sequence[str],
    *,
    dry_run: bool,
) -> ExitCode:
    """Migrate a checkpoint, and print what it became and what goes on from it.

    Args:
        store: Where it is.
        options: Of the command.
        checkpoint_id: Its id.
        workflow: The name of the factory of the changed workflow.
        function: The name of the function that migrates it.
        types: The names of further classes that may be stored.
        dry_run: Whether to write nothing.

    Raises:
        CliError: One of these is wrong, or the checkpoint does not fit the graph.
        StoreError: The store cannot be read or written.
    """
    manifest = await store.manifest(checkpoint_id)
    migration = _function(function)
    pool = _pool(workflow, types)
    graph, pristine = _built(pool, workflow), _built(pool, workflow)
    changes = _changes(manifest, graph, workflow)
    record = await _record(store, manifest, graph, pristine, migration)
    if not dry_run:
        await store.checkpoints.commit(
            record, graph=graph.description(), workflow_id=manifest.workflow_id, rank=RECORDED_RANK
        )
    told = {
        "checkpoint_id": None if dry_run else record.header.checkpoint_id,
        "migrated_from": checkpoint_id,
        "workflow_name": manifest.workflow_name,
        "workflow_id": manifest.workflow_id,
        "graph_signature": graph.workflow.graph_signature_hash,
        "changes": changes,
        "dry_run": dry_run,
    }
    if options.as_json:
        output.print_json({"checkpoint_store": store.blobs.url, "namespace": store.namespace, **told})
    else:
        _print(store, options, told)
    return ExitCode.OK


async def _record(
    store: Opened, manifest: wire.Manifest, graph: BuiltGraph, pristine: BuiltGraph, migration: Migration
) -> wire.CheckpointRecord:
    checkpoint_id, stores = manifest.header.checkpoint_id, Stores(store.values, store.checkpoints)
    try:
        return await migrated_record(graph, pristine, stores, migration, checkpoint_id, _header(manifest))
    except MigrationRefused as error:
        raise CliError(ExitCode.FINDING, f"checkpoint {checkpoint_id!r} cannot be migrated: {error}") from error
    except ApplicationError as error:  # it was deleted just now
        raise CliError(ExitCode.NOT_FOUND, error.message) from error


def _print(store: Opened, options: StoreOptions, told: dict[str, Any]) -> None:
    output.console().print(output.name(f"What has changed: {told['changes']}"), soft_wrap=True)
    if told["dry_run"]:
        output.console().print(output.name(f"{told['migrated_from']} fits. Nothing was written."), soft_wrap=True)
        return
    output.console().print(output.name(told["checkpoint_id"], "bold"), soft_wrap=True)
    for line in _next_commands(store, options, told["workflow_id"], told["checkpoint_id"]):
        output.console().print(output.name(line), soft_wrap=True)


def _next_commands(store: Opened, options: StoreOptions, workflow_id: str, checkpoint_id: str) -> list[str]:
    """Return the commands that go on from a checkpoint; only a run that has ended can be resumed."""
    more: list[str] = []
    if store.namespace != DEFAULT_NAMESPACE:
        more += ["--namespace", store.namespace]
    if options.profile is not None:
        more += ["--profile", options.profile]
    if options.checkpoint_store != DEFAULT_CHECKPOINT_STORE:
        more += ["--checkpoint-store", options.checkpoint_store]
    if options.payload_codec is not None:
        more += ["--payload-codec", options.payload_codec]
    ours = ["temporal-adapter", "checkpoint"]
    fork = shlex.join([*ours, "fork", checkpoint_id, *more])
    if not workflow_id:  # made in-process
        return [f"A run from it: {fork}"]
    resume = shlex.join([*ours, "resume", workflow_id, "--checkpoint", checkpoint_id, *more])
    return [f"The run goes on, once it is cancelled or terminated: {resume}", f"Another run from it: {fork}"]


def _header(manifest: wire.Manifest) -> wire.CheckpointHeader:
    present = datetime.now(timezone.utc).isoformat(timespec="microseconds")
    before = manifest.header
    return wire.CheckpointHeader(
        checkpoint_id=str(uuid.uuid4()),
        previous_checkpoint_id=before.checkpoint_id,
        iteration=before.iteration,
        timestamp=max(present, before.timestamp),  # it comes after, whatever the clocks of the two machines
        kind=before.kind,
    )


def _changes(manifest: wire.Manifest, graph: BuiltGraph, name: str) -> str:
    if graph.workflow.graph_signature_hash == manifest.graph_signature:
        raise CliError(
            ExitCode.USAGE,
            f"--workflow: {name!r} builds the graph that checkpoint {manifest.header.checkpoint_id!r} is of: there is "
            "nothing to migrate.",
        )
    return difference(graph_of(manifest), graph.description())


def _function(name: str) -> Migration:
    try:
        return find_migration(name)
    except ObjectNotFound as error:
        raise CliError(ExitCode.USAGE, f"--function: {error}") from error


def _pool(name: str, types: Sequence[str]) -> GraphPool:
    try:
        [definition] = define([find_factory(name)])
    except (ObjectNotFound, ConfigurationError) as error:
        raise CliError(ExitCode.USAGE, f"--workflow: {error}") from error
    try:
        classes = [find_object(one) for one in types]
    except ObjectNotFound as error:
        raise CliError(ExitCode.USAGE, f"--type: {error}") from error
    for one, cls in zip(types, classes, strict=True):
        if not isinstance(cls, type):
            raise CliError(ExitCode.USAGE, f"--type: {one!r} is of type {type(cls).__name__}, and no class.")
    return GraphPool(definition.factory, types=classes)


def _built(pool: GraphPool, name: str) -> BuiltGraph:
    try:
        return pool.build()
    except Exception as error:  # whatever a user's factory raises
        raise CliError(ExitCode.USAGE, f"--workflow: {name!r} cannot build its workflow: {described(error)}") from error
