"""The Temporal plugin: MAF workflows in, workflow types and activities out."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from datetime import timedelta
from typing import Any, cast, get_args

from agent_framework import Workflow
from temporalio.common import RetryPolicy
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    Interceptor,
    Worker,
    WorkerConfig,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowRunner,
)
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import ActivityConfig

from temporal_adapter.deadlines import Deadline, check_deadlines
from temporal_adapter.definitions import ConfigurationError, Definition, WorkflowSource, define, unknown_activity_types
from temporal_adapter.execution import ACTIVITY_CONFIG, DEFAULT_ACTIVITY_CONFIG
from temporal_adapter.host import HEARTBEAT_THROTTLE, Host, OnFailure, activities, has_dynamic, stranger_activity
from temporal_adapter.migration import OnGraphChange
from temporal_adapter.pool import GraphPool
from temporal_adapter.sandbox import let_through
from temporal_adapter.search_attribute import check_attribute
from temporal_adapter.store import BlobStore, StoreError
from temporal_adapter.versioning import VersioningBehavior, versioning
from temporal_adapter.workflow import workflow_type

DEFAULT_CHECKPOINT_STORE = ".checkpoints"
"""Where checkpoints go unless told otherwise: a directory below the worker's working directory."""

CONTINUE_AS_NEW_BOUNDS = (10, 40_000)
"""The least and the greatest `continue_as_new_after`, in history events; Temporal ends a run at 51,200 events."""


class AgentFrameworkPlugin(SimplePlugin):
    """Runs Microsoft Agent Framework workflows on Temporal.

    Give it to the client (`Client.connect(..., plugins=[plugin])`), from where it reaches workers and replayers, or to
    a worker or replayer; not to both.

    It registers a workflow type for each workflow, called as the workflow, and an activity type for each executor,
    called `<workflow>/<executor>` (`temporal_adapter.wire.names` has the grammar). Everything is checked first.

    Args:
        workflows: Factories that build the workflows; or built ones, where they can be copied.
        checkpoint_store: Where checkpoints and large values go: a path, a `file://`, `memory://name`, `s3://`, `gs://`
            or `az://` URL, or a `BlobStore`. All workers of a task queue must use the same.
        default_activity_options: Temporal's options for every executor's activity, over `DEFAULT_ACTIVITY_CONFIG`.
        activity_options: The same for single executors, by activity type:
            `{"expense-approval/book": ActivityConfig(...)}`.
        on_failure: What a run does when an executor's last attempt fails, unless it is started otherwise: `fail` with
            the executor's error, or `wait` until an operator has it retried (`DurableRun.retry`).
        deadlines: What to do about requests that wait for a response. The first that fits a request holds for it.
        request_link: Where people answer a request, for the reminders: a URL with `{workflow_id}` and `{request_id}` in
            it, such as `"https://approvals.example/runs/{workflow_id}/requests/{request_id}"`, which is the inbox's.
        search_attributes: Whether runs keep the search attribute `AgentFrameworkPendingRequests` (Int) up to date: how
            many requests wait for a response. The namespace must have it; it costs a history event when that changes.
        types: Classes to store in messages, state and attributes beside those that the graphs declare.
        allow_pickle: Whether objects of declared or given types that have no JSON form may be pickled.
        deployment_name: Temporal's Worker Versioning: what all releases of these workers have in common. Goes with
            `build_id`, and reaches the workers as their `deployment_config`.
        build_id: What tells this release from others, such as a commit. A graph that is another has another one.
        default_versioning_behavior: Where runs go when another build becomes current: `pinned` ones, the default, stay
            on the build they began on, whose graph is theirs; `auto_upgrade` ones go over with their next step.
        move_waiting_runs: Whether `pinned` runs go over too, at their next checkpoint after they were woken. Recorded
            with a run when it starts. Needs a graph that continues theirs; `temporal-adapter move` moves single runs.
        on_graph_change: What becomes of a run whose graph is another one than the worker's, for all workflows or by
            their names: `"wait"`, until a worker has its graph again, as after a rollback; `"fail"`; or a function
            `(checkpoint, workflow) -> checkpoint`, plain or async, that migrates it (`temporal_adapter.migration`).
        continue_as_new_after: So many events in a run's history, and it goes on as a new Temporal run of the same
            workflow id at its next checkpoint. It does so when Temporal suggests it (4,096 events), too.

    Raises:
        ConfigurationError: A workflow or an option is not usable; the message says what to change.
        StoreError: The checkpoint store's URL is not usable. Whether it can be written is checked when a worker starts.
    """

    def __init__(
        self,
        workflows: WorkflowSource | Sequence[WorkflowSource],
        *,
        checkpoint_store: str | BlobStore = DEFAULT_CHECKPOINT_STORE,
        default_activity_options: ActivityConfig | None = None,
        activity_options: Mapping[str, ActivityConfig] | None = None,
        on_failure: OnFailure = "fail",
        deadlines: Sequence[Deadline] = (),
        request_link: str | None = None,
        search_attributes: bool = False,
        types: Iterable[type] = (),
        allow_pickle: bool = True,
        deployment_name: str | None = None,
        build_id: str | None = None,
        default_versioning_behavior: VersioningBehavior | None = None,
        move_waiting_runs: bool = False,
        continue_as_new_after: int | None = None,
        on_graph_change: OnGraphChange | Mapping[str, OnGraphChange] = "wait",
    ) -> None:
        definitions = define([workflows] if isinstance(workflows, Workflow) or callable(workflows) else workflows)
        options = _ActivityOptions(definitions, default_activity_options, activity_options or {})
        self._blobs = BlobStore.of(checkpoint_store)
        types = tuple(types)
        _check_types(types)
        if on_failure not in get_args(OnFailure):
            raise ConfigurationError(f"on_failure must be one of {get_args(OnFailure)}, not {on_failure!r}.")
        self._search_attributes = search_attributes
        deadlines = tuple(deadlines)
        check_deadlines(deadlines, [executor for one in definitions for executor in one.outermost_activity_types])
        _check_link(request_link)
        _check_bound(continue_as_new_after)
        on_graph_changes = _by_workflow(on_graph_change, [one.name for one in definitions])
        self._versioning = versioning(deployment_name, build_id, default_versioning_behavior, move_waiting_runs)
        hosts = [
            Host(
                one.name,
                GraphPool(one.factory, types=types, allow_pickle=allow_pickle),
                self._blobs,
                on_failure,
                deadlines=deadlines,
                request_link=request_link,
                counts_requests=search_attributes,
                moves=move_waiting_runs,
                continues_after=continue_as_new_after,
                on_graph_change=on_graph_changes[one.name],
            )
            for one in definitions
        ]
        self._workflow_types = [workflow_type(one.name) for one in definitions]
        self._stranger = stranger_activity({host.name: host for host in hosts})
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "microsoft.AgentFrameworkPlugin",
            interceptors=[_OptionsInterceptor(options.for_activity)],
            activities=[
                definition_activity
                for host, one in zip(hosts, definitions, strict=True)
                for definition_activity in activities(host, one.executor_paths)
            ],
            workflows=self._workflow_types,
            workflow_runner=_pass_through,
        )

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """See base class. Keeps heartbeats back for no more than `HEARTBEAT_THROTTLE`, and says what build it is.

        Raises:
            ConfigurationError: The worker has the plugin twice, or versioning options of its own beside the plugin's.
        """
        registered = cast("Mapping[str, Any]", config).get("workflows") or ()
        if any(workflow in registered for workflow in self._workflow_types):
            raise ConfigurationError(
                "The worker has this AgentFrameworkPlugin twice: give it to the client or to the worker, not to both."
            )
        given = cast("Mapping[str, Any]", config).get("max_heartbeat_throttle_interval") or HEARTBEAT_THROTTLE
        config["max_heartbeat_throttle_interval"] = min(given, HEARTBEAT_THROTTLE)
        own = cast("Sequence[Any]", cast("Mapping[str, Any]", config).get("activities") or ())
        if not has_dynamic(own):  # else what it does for executors of another graph is left to the user's
            config["activities"] = [*own, self._stranger]
        config["deployment_config"] = self._versioning.of_worker(cast("Mapping[str, Any]", config))
        return super().configure_worker(config)

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:
        """See base class. Checks first that the checkpoint store can be written, and the search attribute kept.

        Raises:
            StoreError: The store cannot be written.
            ConfigurationError: The namespace lacks the search attribute.
        """
        try:
            await self._blobs.probe()
            if self._search_attributes:
                await check_attribute(worker.client)
        except (StoreError, ConfigurationError):
            # A worker that never ran is never shut down, and `async with Worker(...)` would wait for that for ever.
            stopped = asyncio.create_task(worker.shutdown())
            await asyncio.sleep(0)  # the request to stop comes first
            await super().run_worker(worker, next)
            await stopped
            raise
        await super().run_worker(worker, next)


def _pass_through(runner: WorkflowRunner | None) -> WorkflowRunner:
    runner = runner or SandboxedWorkflowRunner()
    return let_through(runner) if isinstance(runner, SandboxedWorkflowRunner) else runner


class _ActivityOptions:
    """Options by activity type, merged once."""

    def __init__(
        self, definitions: Sequence[Definition], default: ActivityConfig | None, single: Mapping[str, ActivityConfig]
    ) -> None:
        unknown, known = unknown_activity_types(single, definitions)
        if unknown:
            raise ConfigurationError(
                f"activity_options names {', '.join(map(repr, unknown))}, and no executor is called so. "
                f"There are: {', '.join(known)}."
            )
        for name, config in [("default_activity_options", default or {}), *single.items()]:
            _check_options(name, config)
        self._default = _merged(DEFAULT_ACTIVITY_CONFIG, default or {})
        self._single = {name: _merged(self._default, config) for name, config in single.items()}

    def for_activity(self, activity_type: str) -> ActivityConfig:
        """Return the options of an activity type."""
        return self._single.get(activity_type, self._default)


def _check_options(name: str, config: Mapping[str, Any]) -> None:
    unknown = [key for key in config if key not in ActivityConfig.__annotations__]
    if unknown:
        raise ConfigurationError(
            f"{name}: {', '.join(map(repr, unknown))} is no option of temporalio.workflow.ActivityConfig; "
            f"there are {', '.join(ActivityConfig.__annotations__)}."
        )
    for key, value in config.items():
        expected = timedelta if key.endswith("_timeout") else RetryPolicy if key == "retry_policy" else object
        if value is not None and not isinstance(value, expected):
            raise ConfigurationError(
                f"{name}: {key!r} must be a {expected.__name__}, not {type(value).__name__} {value!r}."
            )


def _check_link(link: str | None) -> None:
    if link is None:
        return
    try:
        link.format(workflow_id="workflow", request_id="request")
    except (LookupError, ValueError, AttributeError) as error:
        raise ConfigurationError(
            f"request_link {link!r} cannot be filled in ({type(error).__name__}: {error}). It may have {{workflow_id}} "
            "and {request_id} in it, and no other braces."
        ) from error


def _check_bound(events: Any) -> None:
    least, greatest = CONTINUE_AS_NEW_BOUNDS
    if events is None or (isinstance(events, int) and not isinstance(events, bool) and least <= events <= greatest):
        return
    raise ConfigurationError(
        f"continue_as_new_after must be a number of history events from {least:,} to {greatest:,}, not {events!r}. "
        "Leave it out, and a run goes on as a new one when Temporal suggests it."
    )


def _by_workflow(
    given: OnGraphChange | Mapping[str, OnGraphChange], workflow_names: Sequence[str]
) -> dict[str, OnGraphChange]:
    """Return what is done about a changed graph, by workflow name."""
    if not isinstance(given, Mapping):
        _check_on_graph_change("on_graph_change", given)
        return dict.fromkeys(workflow_names, given)
    by_name = cast("Mapping[str, OnGraphChange]", given)
    for name, one in by_name.items():
        if name not in workflow_names:
            known = ", ".join(map(repr, workflow_names))
            raise ConfigurationError(
                f"on_graph_change names {name!r}, and no workflow is called so. There are: {known}."
            )
        _check_on_graph_change(f"on_graph_change[{name!r}]", one)
    return {name: by_name.get(name, "wait") for name in workflow_names}


def _check_on_graph_change(what: str, given: Any) -> None:
    if isinstance(given, str) and given in ("wait", "fail"):
        return
    must = f'{what} must be "wait", "fail", or a function (checkpoint, workflow) -> checkpoint'
    if not callable(given) or isinstance(given, type):
        raise ConfigurationError(f"{must}, not {given!r}.")
    try:
        inspect.signature(given).bind(None, None)
    except TypeError as error:
        raise ConfigurationError(f"{must}; {given!r} cannot be called so: {error}.") from error
    except ValueError:  # a callable whose signature Python does not know
        return


def _check_types(types: Sequence[Any]) -> None:
    for one in types:
        if not isinstance(one, type):
            raise ConfigurationError(f"types: {one!r} is not a class. Pass classes, such as types=[Report].")


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> ActivityConfig:
    return cast("ActivityConfig", {**under, **over})


class _OptionsInterceptor(Interceptor):
    """Offers the options to workflow code, which cannot see the worker otherwise."""

    def __init__(self, for_activity: Callable[[str], ActivityConfig]) -> None:
        self._for_activity = for_activity

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor] | None:
        functions = cast("MutableMapping[str, Callable[[str], ActivityConfig]]", input.unsafe_extern_functions)  # pyright: ignore[reportUnknownMemberType]
        functions[ACTIVITY_CONFIG] = self._for_activity
        return None
