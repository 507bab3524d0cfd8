"""`checkpoint fork`: a new run from a checkpoint, with other responses or another shared state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, cast

import typer

from temporal_adapter import wire
from temporal_adapter.cli.connected import connected
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import CliError, ExitCode, tell
from temporal_adapter.store import StoreError
from temporal_adapter.wire.tags import TAG, type_text

from .given import given_responses, given_state
from .group import group
from .opened import Opened, opened
from .replay import task_queue_of


@command(group, "fork")
async def fork_run(
    options: StoreOptions,
    checkpoint_id: Annotated[str, typer.Argument(metavar="ID", help="The checkpoint to begin at.")],
    respond: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REQUEST_ID=JSON", help="Answer a request that is pending in it, or was just answered. Repeatable."
        ),
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option(metavar="KEY=JSON", help="Set shared state to plain JSON. Repeatable.")
    ] = None,
    delete_state: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="Delete shared state. Repeatable.")
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for the record.")] = None,
    workflow_id: Annotated[
        str | None, typer.Option("--id", metavar="WORKFLOW_ID", help="Of the new run; one is made if absent.")
    ] = None,
    task_queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the workers; by default that of the run it is made from.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end, or until it waits for somebody.")] = False,
) -> ExitCode:
    """Start a new run from a checkpoint, with other responses, or another shared state.

    Its first checkpoint has what was changed, and why. Requests that are left open wait for people. Executors run
    again, with their side effects. The run that it is made from stays as it is.
    """
    store = opened(options)
    manifest = await store.manifest(checkpoint_id)
    responses = given_responses(respond or [], _answerable(manifest), checkpoint_id)
    edits = given_state(state or [], manifest.state)
    _check_deleted(delete_state or [], edits, manifest)
    await _tell_of_types(store, manifest, edits)
    queue = task_queue or await task_queue_of(store, manifest)
    client = await connected(options)
    from .starting import start

    return await start(
        client,
        options,
        "fork",
        manifest.workflow_name,
        queue,
        wait,
        lambda durable: durable.fork(
            checkpoint_id,
            id=workflow_id,
            responses=responses,
            state=edits,
            delete_state=delete_state or [],
            reason=reason,
        ),
    )


def _answerable(manifest: wire.Manifest) -> list[str]:
    """Return the ids of the requests that are pending, and of those whose response is in flight."""
    answered = [one.request.request_id for one in manifest.messages if one.request is not None]
    return [*manifest.requests, *answered]


def _check_deleted(keys: Sequence[str], edits: dict[str, Any], manifest: wire.Manifest) -> None:
    for key in keys:
        if key not in manifest.state:
            known = ", ".join(repr(one) for one in manifest.state if not one.startswith("_")) or "none"
            raise CliError(
                ExitCode.USAGE,
                f"--delete-state: checkpoint {manifest.header.checkpoint_id!r} has no state {key!r}. There is: "
                f"{known}.",
            )
        if key in edits:
            raise CliError(ExitCode.USAGE, f"--delete-state: {key!r} is to be set too, by --state.")


async def _tell_of_types(store: Opened, manifest: wire.Manifest, keys: Iterable[str]) -> None:
    """Say which of these keys hold what plain JSON is not: the executors may count on it."""
    for key in keys:
        if key in manifest.state:
            try:
                held: Any = await store.values.resolve(manifest.state[key])
            except StoreError:
                continue  # it is replaced anyway
            tagged = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
            if tagged.get(TAG, "dict") != "dict":
                kind = type_text(tagged.get("type", tagged[TAG]))
                tell(
                    f"Warning: the state {key!r} is of type {kind} in the checkpoint, and plain JSON in the fork. "
                    "DurableWorkflow.fork sets it to an object."
                )
