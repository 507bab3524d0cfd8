"""What changed between two pieces of tagged JSON, so that changes of two executors to one value can both be kept.

A patch is JSON: `{"append": [...]}` for a list that grew at its end, `{"set": {...}, "change": {...}, "delete": [...]}`
for a dict, where `change` has patches of its own. Whatever else changed has no patch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from .schema import to_bytes
from .tags import TAG


class Absent:
    """Stands for no value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


def patch_between(before: Any, after: Any) -> dict[str, Any] | None:
    """Return the patch that turns one piece of tagged JSON into another; None if there is no such patch.

    Where nothing was before (`ABSENT`), a list or dict began empty.
    """
    if isinstance(after, list):
        items = cast("list[Any]", after)
        start: Any = [] if before is ABSENT else before
        if isinstance(start, list) and _same(items[: len(cast("list[Any]", start))], start):
            return {"append": items[len(cast("list[Any]", start)) :]}
    elif _is_plain_dict(after):
        start = {} if before is ABSENT else before
        if _is_plain_dict(start):
            return _dict_patch(start, after)
    return None


def patched(before: Any, patch: Mapping[str, Any]) -> Any:
    """Return tagged JSON with a patch applied; what the patch does not fit begins empty."""
    if "append" in patch:
        return [*(cast("list[Any]", before) if isinstance(before, list) else []), *patch["append"]]
    result: dict[str, Any] = dict(cast("dict[str, Any]", before)) if _is_plain_dict(before) else {}
    for key in patch.get("delete", []):
        result.pop(key, None)
    for key, change in patch.get("change", {}).items():
        result[key] = patched(result.get(key, ABSENT), change)
    result.update(patch.get("set", {}))
    return result


def _same(left: Any, right: Any) -> bool:
    return left == right and to_bytes(left) == to_bytes(right)  # of one type, too: 1 == 1.0 == True


def _is_plain_dict(value: Any) -> bool:
    return isinstance(value, dict) and TAG not in value


def _dict_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    replaced: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    for key, value in after.items():
        if key in before and _same(before[key], value):
            continue
        inner = patch_between(before.get(key, ABSENT), value)
        if inner is None:
            replaced[key] = value
        else:
            changed[key] = inner
    patch = {"set": replaced, "change": changed, "delete": [key for key in before if key not in after]}
    return {kind: entries for kind, entries in patch.items() if entries}
