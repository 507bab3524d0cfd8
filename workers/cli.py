"""The command line of the generic worker: what it accepts, and what it says when something is wrong.

    python -m workers --workflow package.module:factory --task-queue NAME

A problem that a person can mend is one line that names it; a stack trace means a bug.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Sequence
from datetime import timedelta

import click
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.worker import Worker

from temporal_adapter import AgentFrameworkPlugin, ConfigurationError, StoreError, process
from temporal_adapter.connection import ConnectionFailed, connect
from temporal_adapter.definitions import WorkflowSource, define
from temporal_adapter.loading import ObjectNotFound, find_migration, find_payload_codec
from temporal_adapter.migration import OnGraphChange
from temporal_adapter.plugin import CONTINUE_AS_NEW_BOUNDS, DEFAULT_CHECKPOINT_STORE
from temporal_adapter.versioning import VersioningBehavior
from workers.factories import FactoryNotFound, described, find_factory

_GRACEFUL_SHUTDOWN = timedelta(seconds=10)  # for activities under way; what they leave, another worker repeats


class _Factory(click.ParamType):
    name = "package.module:factory"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> WorkflowSource:
        try:
            return find_factory(value)
        except FactoryNotFound as error:
            self.fail(str(error), param, ctx)


class _OnGraphChange(click.ParamType):
    name = "wait|fail|package.module:migration"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> OnGraphChange:
        if value == "wait" or value == "fail":
            return value
        try:
            return find_migration(value)
        except ObjectNotFound as error:
            self.fail(f"it is neither 'wait' nor 'fail', and as a migration: {error}", param, ctx)


@click.command()
@click.option(
    "--workflow",
    "workflows",
    type=_Factory(),
    multiple=True,
    required=True,
    help="A function that builds a workflow. Repeat the option for more.",
)
@click.option("--task-queue", required=True, metavar="NAME", help="The Temporal task queue to serve.")
@click.option(
    "--checkpoint-store",
    default=DEFAULT_CHECKPOINT_STORE,
    show_default=True,
    metavar="URL",
    help="Where checkpoints go: a path or URL. All workers of a task queue must use the same.",
)
@click.option(
    "--max-concurrent-activities",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many executors run at a time, at most.  [default: Temporal's]",
)
@click.option(
    "--payload-codec",
    metavar="PACKAGE.MODULE:OBJECT",
    help="A payload codec for Temporal and the checkpoint store, or a function or class that makes it.",
)
@click.option(
    "--search-attributes",
    is_flag=True,
    help="Keep the search attribute AgentFrameworkPendingRequests, by which runs that wait are found.",
)
@click.option(
    "--deployment-name",
    envvar="TEMPORAL_DEPLOYMENT_NAME",
    show_envvar=True,
    metavar="NAME",
    help="Worker Versioning: what all releases of these workers have in common. Goes with --build-id.",
)
@click.option(
    "--build-id",
    envvar="TEMPORAL_WORKER_BUILD_ID",
    show_envvar=True,
    metavar="ID",
    help="Worker Versioning: what tells this release from others, such as a commit.",
)
@click.option(
    "--versioning-behavior",
    envvar="TEMPORAL_ADAPTER_VERSIONING_BEHAVIOR",
    show_envvar=True,
    type=click.Choice(["pinned", "auto_upgrade"]),
    help="Whether runs stay on the build they began on, or go over to a newer one by themselves.  [default: pinned]",
)
@click.option(
    "--move-waiting-runs/--keep-waiting-runs",
    envvar="TEMPORAL_ADAPTER_MOVE_WAITING_RUNS",
    show_envvar=True,
    help="Pinned runs go over too, at the next checkpoint after something woke them.  [default: keep]",
)
@click.option(
    "--continue-as-new-after",
    envvar="TEMPORAL_ADAPTER_CONTINUE_AS_NEW_AFTER",
    show_envvar=True,
    type=click.IntRange(*CONTINUE_AS_NEW_BOUNDS),
    metavar="EVENTS",
    help="A run with so long a history goes on as a new one.  [default: when Temporal suggests it]",
)
@click.option(
    "--on-graph-change",
    type=_OnGraphChange(),
    default="wait",
    show_default=True,
    help="What becomes of runs of another graph: they wait for workers that have it, fail, or are migrated.",
)
@click.option("--profile", metavar="NAME", help="A profile of Temporal's configuration file.")
def main(
    workflows: Sequence[WorkflowSource],
    task_queue: str,
    checkpoint_store: str,
    max_concurrent_activities: int | None,
    payload_codec: str | None,
    search_attributes: bool,
    deployment_name: str | None,
    build_id: str | None,
    versioning_behavior: VersioningBehavior | None,
    move_waiting_runs: bool,
    continue_as_new_after: int | None,
    on_graph_change: OnGraphChange,
    profile: str | None,
) -> None:
    """Serve Microsoft Agent Framework workflows on a Temporal task queue, until SIGINT or SIGTERM.

    The server is the one that the TEMPORAL_* environment variables and Temporal's configuration file name.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    _check_versioning(deployment_name, build_id, versioning_behavior, move_waiting_runs)
    try:
        names = [_name(workflow) for workflow in workflows]
        codec = None if payload_codec is None else find_payload_codec(payload_codec)
        converter = dataclasses.replace(DataConverter.default, payload_codec=codec)
        plugin = AgentFrameworkPlugin(
            workflows,
            checkpoint_store=checkpoint_store,
            search_attributes=search_attributes,
            deployment_name=deployment_name,
            build_id=build_id,
            default_versioning_behavior=versioning_behavior,
            move_waiting_runs=move_waiting_runs,
            continue_as_new_after=continue_as_new_after,
            on_graph_change=on_graph_change,
        )
    except (ConfigurationError, StoreError, ObjectNotFound) as error:
        raise click.ClickException(str(error)) from error

    async def serve() -> int:
        try:
            client = await connect(profile, plugins=[plugin], data_converter=converter)
            worker = Worker(
                client,
                task_queue=task_queue,
                max_concurrent_activities=max_concurrent_activities,
                graceful_shutdown_timeout=_GRACEFUL_SHUTDOWN,
            )
            build = _build(deployment_name, build_id, versioning_behavior, move_waiting_runs)
            await _run(worker, _greeting(names, client, task_queue, checkpoint_store) + build)
        except (ConfigurationError, ConnectionFailed, StoreError) as error:
            click.echo(f"Error: {error}", err=True)
            return 1
        return 0

    raise SystemExit(process.exit_code(serve(), interrupted=lambda _: 0))


def _check_versioning(name: str | None, build_id: str | None, behavior: VersioningBehavior | None, moves: bool) -> None:
    if (name is None) != (build_id is None):
        raise click.UsageError(
            "--deployment-name and --build-id go together: give both, or neither. In the environment they are "
            "TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID."
        )
    if name is None and (behavior is not None or moves):
        raise click.UsageError(
            "--versioning-behavior and --move-waiting-runs say where runs go when there is a newer build: give "
            "--deployment-name and --build-id too."
        )


def _name(workflow: WorkflowSource) -> str:
    """Return the name of a workflow, once it is known that it can be built."""
    try:
        [definition] = define([workflow])
    except ConfigurationError:
        raise
    except Exception as error:  # whatever a user's factory raises
        factory = getattr(workflow, "__qualname__", None) or repr(workflow)
        raise click.ClickException(f"the factory {factory} cannot build its workflow: {described(error)}") from error
    return definition.name


async def _run(worker: Worker, greeting: str) -> None:
    """Run the worker to its end; print the greeting once it serves."""

    async def greet() -> None:
        while not worker.is_running:  # noqa: ASYNC110  # the SDK has no event for it
            await asyncio.sleep(0.01)
        click.echo(greeting)

    greeter = asyncio.create_task(greet())
    try:
        await worker.run()
    finally:
        greeter.cancel()


def _greeting(names: Sequence[str], client: Client, task_queue: str, checkpoint_store: str) -> str:
    return (
        f"Serving {', '.join(names)} on task queue {task_queue!r} at {client.service_client.config.target_host} "
        f"(namespace {client.namespace!r}); checkpoints in {checkpoint_store}."
    )


def _build(name: str | None, build_id: str | None, behavior: VersioningBehavior | None, moves: bool) -> str:
    """Return what the greeting says of Worker Versioning."""
    if name is None:
        return ""
    pinned = "move to newer builds at their checkpoints" if moves else "are pinned to it"
    runs = "go over to newer builds" if behavior == "auto_upgrade" else pinned
    return f" It is build {build_id!r} of deployment {name!r}: its runs {runs}."
