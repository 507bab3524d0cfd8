"""`checkpoint show`: everything readable in one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer
from rich.text import Text
from rich.tree import Tree

from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode, tell

from .group import group
from .opened import opened
from .view import is_missing, view

_HEADER = ("workflow_name", "workflow_id", "run_id", "kind", "iteration", "timestamp", "previous_checkpoint_id")


@command(group, "show")
async def show_checkpoint(
    options: StoreOptions,
    checkpoint_id: Annotated[str, typer.Argument(metavar="ID", help="The checkpoint's id.")],
    full: Annotated[bool, typer.Option("--full", help="Show long values whole.")] = False,
) -> ExitCode:
    """Show a checkpoint: its state, executors, messages in flight, pending requests and sub-workflows.

    A value that is missing in the store, or damaged, is named, and the rest is shown; the exit code is then 1.
    """
    store = opened(options)
    seen = await view(await store.manifest(checkpoint_id), store.values)
    if options.as_json:
        output.print_json(seen.document)
    else:
        output.console().print(_Shown(full).checkpoint(seen.document))
    for one in seen.missing:
        tell(f"Warning: {one['place']} is missing: {one['reason']}")
    return ExitCode.FINDING if seen.missing else ExitCode.OK


class _Shown:
    """Draws a checkpoint's document as a tree."""

    def __init__(self, full: bool) -> None:
        self._full = full

    def checkpoint(self, document: Mapping[str, Any]) -> Tree:
        tree = Tree(Text.assemble("checkpoint ", output.name(document["checkpoint_id"], "bold")))
        for key in _HEADER:
            if document[key] is not None:
                tree.add(_labelled(key, output.name(str(document[key]))))
        self._mapping(tree, "metadata", document["metadata"])
        self._messages(tree, "messages in flight", document["messages"])
        self._entries(tree, document)
        if document["sub_workflows"]:
            below = tree.add(_heading("sub_workflows"))
            for path, child in document["sub_workflows"].items():
                node = below.add(
                    _labelled(path, output.name(f"{child['workflow_name']}, iteration {child['iteration']}"))
                )
                self._entries(node, child)
        return tree

    def _entries(self, tree: Tree, entries: Mapping[str, Any]) -> None:
        self._mapping(tree, "state", entries["state"])
        self._executors(tree, entries["executors"])
        if entries["fan_in_buffers"]:
            node = tree.add(_heading("fan_in_buffers"))
            for key, buffered in entries["fan_in_buffers"].items():
                self._messages(node, key, buffered)
        if entries["pending_requests"]:
            node = tree.add(_heading("pending_requests"))
            for request_id, request in entries["pending_requests"].items():
                asked = node.add(output.name(request_id, "bold"))
                asked.add(_labelled("executor", output.name(request["executor_id"])))
                asked.add(_labelled("asks", self._value(request["data"]), request["request_type"]))
                asked.add(_labelled("wants", output.name(request["response_type"])))

    def _executors(self, tree: Tree, executors: Mapping[str, Any]) -> None:
        """Show the executors that have something of their own."""
        own = {key: [part for part in one if one[part] not in (None, {}, [])] for key, one in executors.items()}
        if not any(own.values()):
            return
        node = tree.add(_heading("executors"))
        for executor_id, parts in own.items():
            for part in parts:
                held = executors[executor_id][part]
                if isinstance(held, dict) and not is_missing(held):
                    self._mapping(node, f"{executor_id} {part}", cast("dict[str, Any]", held))
                else:
                    node.add(_labelled(f"{executor_id} {part}", self._value(held)))

    def _messages(self, tree: Tree, heading: str, messages: list[dict[str, Any]]) -> None:
        if not messages:
            return
        node = tree.add(_heading(heading))
        for message in messages:
            node.add(Text.assemble(message_route(message), ": ", self._value(message["data"]), _typed(message)))

    def _mapping(self, tree: Tree, heading: str, values: Mapping[str, Any]) -> None:
        if not values:
            return
        node = tree.add(_heading(heading))
        for key, plain in values.items():
            node.add(_labelled(key, self._value(plain)))

    def _value(self, plain: Any) -> Text:
        if is_missing(plain):
            return Text(f"missing in the store: object {plain['object']}, {plain['size']:,} bytes", "red")
        return Text(output.value(plain, full=self._full))


def message_route(message: Mapping[str, Any]) -> Text:
    """Return where a message comes from and goes to: `review -> join`, or `response to 1f3c`."""
    if message["request_id"] is not None:
        return output.name(f"response to {message['request_id']} for {message['target_id']}")
    target = message["target_id"]
    return output.name(message["source_id"] if target is None else f"{message['source_id']} -> {target}")


def _typed(message: Mapping[str, Any]) -> Text:
    return output.name(f" ({message['data_type']})", "dim")


def _heading(text: str) -> Text:
    return output.name(text, "bold")


def _labelled(label: str, text: Text, type_name: str | None = None) -> Text:
    kind = "" if type_name is None else f" ({type_name})"
    return Text.assemble(output.name(label), ": ", text, output.name(kind, "dim") if kind else "")
