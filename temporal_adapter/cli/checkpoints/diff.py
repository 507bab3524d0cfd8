"""`checkpoint diff`: what changed from one checkpoint to another, by place.

The differences are deepdiff's, of the two documents that `view` makes; messages in flight, which come and go whole,
are compared as sequences by difflib. Ids and times of the checkpoints themselves are no difference.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer
from rich.text import Text

from temporal_adapter import wire
from temporal_adapter.cli import output
from temporal_adapter.cli.options import StoreOptions, command
from temporal_adapter.cli.running import ExitCode, tell
from temporal_adapter.store import CorruptObject, MissingObject
from temporal_adapter.wire.tags import plain

from .group import group
from .list import kind_text
from .opened import Opened, opened
from .show import message_route
from .view import MESSAGE_KEYS, REQUEST_KEYS, is_missing, view

_WHOLE = ("workflow_name", "graph_signature", "iteration", "metadata")  # of the run
_ENTRIES = ("state", "executors")  # of the run and of each sub-workflow
_ADDED = frozenset({"dictionary_item_added", "iterable_item_added"})
_REMOVED = frozenset({"dictionary_item_removed", "iterable_item_removed"})


@command(group, "diff")
async def diff_checkpoints(
    options: StoreOptions,
    before: Annotated[str, typer.Argument(metavar="ID1", help="The id of the checkpoint that counts as before.")],
    after: Annotated[str, typer.Argument(metavar="ID2", help="The id of the one that counts as after.")],
    full: Annotated[bool, typer.Option("--full", help="Show long values whole.")] = False,
) -> ExitCode:
    """Show what changed from one checkpoint to another: state, executors, messages in flight, requests.

    They may be of different runs. The exit code is 0 when nothing differs and 1 when something does, as of diff.
    """
    store = opened(options)
    left, right = await store.manifest(before), await store.manifest(after)
    views = await view(left, store.values), await view(right, store.values)
    answers = await _answers(store, left, right)
    changes = list(_changes(_comparable(views[0].document), _comparable(views[1].document), answers))
    if options.as_json:
        document = {"before": before, "after": after, "same": not changes, "changes": [one.json() for one in changes]}
        output.print_json({**document, "missing": [*views[0].missing, *views[1].missing]})
    else:
        _print(left, right, changes, full)
    for one in [*views[0].missing, *views[1].missing]:
        tell(f"Warning: {one['place']} is missing: {one['reason']}")
    return ExitCode.FINDING if changes else ExitCode.OK


@dataclass(frozen=True)
class _Change:
    path: Sequence[str | int]
    change: str  # added, removed, changed; of a request: asked, answered
    before: Any = None
    after: Any = None

    def json(self) -> dict[str, Any]:
        return {
            "place": self.place,
            "path": list(self.path),
            "change": self.change,
            "before": self.before,
            "after": self.after,
        }

    @property
    def place(self) -> str:
        """The path as people write it: `state.total`, `state.lines[2]`, `state["a.b"]`."""
        first, *rest = self.path
        return str(first) + "".join(map(_step, rest))


def _step(part: str | int) -> str:
    if isinstance(part, str) and part and not set(part) & set('.[]"\n '):
        return f".{part}"
    return f"[{json.dumps(part, ensure_ascii=False)}]"


_Document = Mapping[str, Any]


def _changes(before: _Document, after: _Document, answers: Mapping[str, Any]) -> Iterator[_Change]:
    yield from _deep([], {key: before[key] for key in _WHOLE}, {key: after[key] for key in _WHOLE})
    yield from _messages(["messages"], before["messages"], after["messages"])
    yield from _level([], before, after, answers)
    for path in _keys(before["sub_workflows"], after["sub_workflows"]):
        left, right = before["sub_workflows"].get(path), after["sub_workflows"].get(path)
        yield from _level(["sub_workflows", path], left or _NOTHING, right or _NOTHING, answers)


_NOTHING: _Document = {"iteration": 0, "state": {}, "executors": {}, "fan_in_buffers": {}, "pending_requests": {}}


def _level(path: Sequence[str], before: _Document, after: _Document, answers: Mapping[str, Any]) -> Iterator[_Change]:
    """Compare what a run, or a sub-workflow, has by itself."""
    keys = (*_ENTRIES, "iteration") if path else _ENTRIES
    yield from _deep(path, {key: before[key] for key in keys}, {key: after[key] for key in keys})
    left, right = before["fan_in_buffers"], after["fan_in_buffers"]
    for key in _keys(left, right):
        yield from _messages([*path, "fan_in_buffers", key], left.get(key, []), right.get(key, []))
    left, right = before["pending_requests"], after["pending_requests"]
    for request_id in _keys(left, right):
        yield from _request(
            [*path, "pending_requests", request_id], left.get(request_id), right.get(request_id), answers
        )


def _deep(path: Sequence[str], before: Any, after: Any) -> list[_Change]:
    """Return the differences that deepdiff finds, those of one key together, keys in their order."""
    order = {key: place for place, key in enumerate(before)}
    return sorted(_found(path, before, after), key=lambda change: order.get(change.path[len(path)], len(order)))


def _found(path: Sequence[str], before: Any, after: Any) -> Iterator[_Change]:
    from deepdiff import DeepDiff  # takes as long to import as a fifth of what every command does

    found: Any = DeepDiff(
        before, after, view="tree", threshold_to_diff_deeper=0, ignore_private_variables=False, verbose_level=2
    )
    for kind, nodes in found.items():
        for node in nodes:
            place = [*path, *node.path(output_format="list")]
            if kind in _ADDED:
                yield _Change(place, "added", after=node.t2)
            elif kind in _REMOVED:
                yield _Change(place, "removed", before=node.t1)
            else:
                yield _Change(place, "changed", node.t1, node.t2)


def _messages(path: Sequence[str], before: list[Any], after: list[Any]) -> Iterator[_Change]:
    """Compare messages as wholes: one that is in flight next is another, however alike it is."""
    left, right = ([json.dumps(one, sort_keys=True) for one in side] for side in (before, after))
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            for index in range(start, end):
                yield _Change([*path, index], "removed", before=before[index])
            for index in range(new_start, new_end):
                yield _Change([*path, index], "added", after=after[index])


def _request(
    path: Sequence[str], before: _Document | None, after: _Document | None, answers: Mapping[str, Any]
) -> Iterator[_Change]:
    request_id = path[-1]
    if before is None:
        yield _Change(path, "asked", after=after)
    elif after is not None:
        yield from _deep(path, before, after)
    elif request_id in answers:
        yield _Change(path, "answered", before=before, after=answers[request_id])
    else:
        yield _Change(path, "removed", before=before)


def _keys(before: _Document, after: _Document) -> list[str]:
    return list(dict.fromkeys([*before, *after]))


async def _answers(store: Opened, before: wire.Manifest, after: wire.Manifest) -> dict[str, Any]:
    """Return the responses, by request id, that are in flight in `after` and its ancestors down to `before`.

    Where `before` is no ancestor there is no telling, and so there are none.
    """
    answers: dict[str, Any] = {}
    seen: set[str] = set()
    step: wire.Manifest | None = after if _requests(before) - _requests(after) else None
    while step is not None and step.header.checkpoint_id not in seen:
        seen.add(step.header.checkpoint_id)
        for message in step.messages:
            if message.request is not None:
                answers[message.request.request_id] = await _answer(store, message.data)
        parent = step.header.previous_checkpoint_id
        if step.header.checkpoint_id == before.header.checkpoint_id:
            return answers
        step = None if parent is None else await store.checkpoints.load_by_id(parent)
    return {}


def _requests(manifest: wire.Manifest) -> set[str]:
    """Return the ids of the requests that are pending at any level."""
    levels: list[wire.SnapshotEntries] = [manifest, *manifest.children.values()]
    return {request_id for level in levels for request_id in level.requests}


async def _answer(store: Opened, value: wire.Value) -> Any:
    try:
        return plain(await store.values.resolve(value))
    except (MissingObject, CorruptObject):
        return f"missing in the store: object {value.ref}, {value.size} bytes"


def _comparable(document: _Document) -> _Document:
    """Return a document without executors' states that are not there, and with what is missing as text."""
    levels = [document, *document["sub_workflows"].values()]
    read = [_without_missing(_without_nones(level)) for level in levels]
    return {**read[0], "sub_workflows": dict(zip(document["sub_workflows"], read[1:], strict=True))}


def _without_nones(level: _Document) -> _Document:
    executors = {
        key: {part: one for part, one in executor.items() if one is not None}
        for key, executor in level["executors"].items()
    }
    return {**level, "executors": executors}


def _without_missing(plain_json: Any) -> Any:
    """Return JSON in which what is missing is a text: nothing to look into, and the same if it is the same."""
    if is_missing(plain_json):
        return f"missing in the store: object {plain_json['object']}, {plain_json['size']} bytes"
    if isinstance(plain_json, dict):
        return {key: _without_missing(one) for key, one in cast("dict[str, Any]", plain_json).items()}
    if isinstance(plain_json, list):
        return [_without_missing(one) for one in cast("list[Any]", plain_json)]
    return plain_json


def _print(before: wire.Manifest, after: wire.Manifest, changes: Sequence[_Change], full: bool) -> None:
    console = output.console()
    for sign, manifest in (("---", before), ("+++", after)):
        header = manifest.header
        console.print(
            Text.assemble(
                f"{sign} ",
                output.name(header.checkpoint_id, "bold"),
                output.name(f"  {manifest.workflow_id}  {kind_text(header)}  {output.moment(header.timestamp)}"),
            )
        )
    if not changes:
        console.print(Text("no difference"))
    for change in changes:
        console.print(Text.assemble(output.name(change.place, "bold"), ": ", _what(change, full)))


def _what(change: _Change, full: bool) -> Text:
    before, after = _short(change.before, full), _short(change.after, full)
    texts = {
        "added": Text.assemble(("added ", "green"), after),
        "removed": Text.assemble(("removed ", "red"), before),
        "changed": Text.assemble((before, "red"), " -> ", (after, "green")),
        "asked": Text.assemble(("asked ", "yellow"), after),
        "answered": Text.assemble(("answered ", "green"), after),
    }
    return texts[change.change]


def _short(plain_json: Any, full: bool) -> str:
    """Return a value as text; of messages and requests what a person looks for."""
    if not isinstance(plain_json, dict):
        return output.value(plain_json, full=full)
    read = cast("dict[str, Any]", plain_json)
    if read.keys() == MESSAGE_KEYS:
        return f"{message_route(read)}: {output.value(read['data'], full=full)} ({read['data_type']})"
    if read.keys() == REQUEST_KEYS:
        data = f"{output.value(read['data'], full=full)} ({read['request_type']})"
        return f"by {output.name(read['executor_id'])}: {data}, wants {read['response_type']}"
    return output.value(read, full=full)
