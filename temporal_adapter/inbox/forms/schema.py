"""From JSON schema to nodes. Takes what Pydantic writes, and whatever else is in the way of it as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from .nodes import Choice, Either, Entry, Group, Items, Json, Moment, Node, Number, Place, Text, YesNo

_DEEPEST = 6  # levels of nesting that a form has; below, and for schemas that contain themselves, there is JSON text
_MOST_NODES = 300
_SHORT_TEXT = 80  # characters that fit one line
_NULL = {"type": "null"}
_INPUTS = {
    "date": "date",
    "time": "time",
    "email": "email",
    "uri": "url",
    "password": "password",
    "uuid": "text",
    "duration": "text",
}

Schema = Mapping[str, Any]


def node_of(schema: Any) -> Node:
    """Return the node of a JSON schema; JSON text for what is no schema, or has no form. Never raises."""
    if not isinstance(schema, dict):
        return Json()
    try:
        made = _Making(cast("dict[str, Any]", schema))
        place = made.place(cast("dict[str, Any]", schema), 0)
    except (_TooLarge, RecursionError):
        return Json()
    if place.blank is not None:  # of something that may be null
        return Either(places=(Place(node=place.node), Place(node=_choice([None]))), labels=("An answer", "None (null)"))
    return place.node


class _TooLarge(Exception):
    """The form would have more fields than anybody fills."""


class _Making:
    def __init__(self, root: dict[str, Any]) -> None:
        definitions: Any = root.get("$defs")
        self._definitions: dict[str, Any] = definitions if isinstance(definitions, dict) else {}
        self._made = 0

    def place(self, schema: Any, depth: int, *, required: bool = True) -> Place:
        """Return the node of a schema, with what it is when it is left blank."""
        self._made += 1
        if self._made > _MOST_NODES:
            raise _TooLarge
        resolved = self._resolved(schema)
        if resolved is None or depth > _DEEPEST:
            return Place(node=_json(resolved or {}), blank=None if required else "omit")
        has_default = "default" in resolved
        kinds = self._kinds(resolved)
        some = [one for one in kinds if one != _NULL]
        if len(some) < len(kinds):
            node = self._any_of(some, resolved, depth)
            blank = "null" if required or has_default else "omit"
            return Place(node=node, blank=blank, default=resolved.get("default"), has_default=has_default)
        node = self._any_of(some, resolved, depth) if kinds else self._node(resolved, depth)
        blank = None if required else "omit"
        return Place(node=node, blank=blank, default=resolved.get("default"), has_default=has_default)

    def _resolved(self, schema: Any) -> dict[str, Any] | None:
        """Return a schema without its reference; what stands beside the reference counts more."""
        seen: set[str] = set()
        while isinstance(schema, dict):
            found = cast("dict[str, Any]", schema)
            inner: Any = found.get("$ref")
            rest = {key: value for key, value in found.items() if key not in ("$ref", "allOf")}
            parts: Any = found.get("allOf")
            if isinstance(parts, list) and len(cast("list[Any]", parts)) == 1 and inner is None:
                inner = cast("list[Any]", parts)[0]
            if inner is None:
                return found
            if isinstance(inner, str):
                if inner in seen or not inner.startswith("#/$defs/"):
                    return None
                seen.add(inner)
                name = inner.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
                inner = self._definitions.get(name)
            if not isinstance(inner, dict):
                return None
            schema = {**cast("dict[str, Any]", inner), **rest}
        return None

    def _kinds(self, schema: Schema) -> list[Any]:
        """Return the schemas of which any may hold; none where there is but one."""
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return list(schema[key])
        types: Any = schema.get("type")
        if isinstance(types, list):
            rest = {key: value for key, value in schema.items() if key not in ("type", "default", "title")}
            return [_NULL if one == "null" else {**rest, "type": one} for one in cast("list[Any]", types)]
        return []

    def _any_of(self, kinds: list[Any], schema: Schema, depth: int) -> Node:
        told = _told(schema)
        if not kinds:
            return _choice([None], **told)
        if len(kinds) == 1:
            inner = self._resolved(kinds[0]) or {}
            return self.place({**inner, **told}, depth).node
        if _is_decimal(schema, kinds):
            return Text(kind="text", **told)
        if any("const" in one or "enum" in one for one in map(_mapping, kinds)):
            values = [value for one in kinds for value in _values(self._resolved(one) or {})]
            if all(_values(self._resolved(one) or {}) for one in kinds):
                return _choice(values, **told)
        places = tuple(self.place(one, depth + 1) for one in kinds)
        labels = tuple(_label(self._resolved(one) or {}) for one in kinds)
        return Either(places=places, labels=labels, **told)

    def _node(self, schema: Schema, depth: int) -> Node:
        told = _told(schema)
        if values := _values(schema):
            return _choice(values, **told)
        kind = schema.get("type")
        if kind == "boolean":
            return YesNo(**told)
        if kind in ("integer", "number"):
            return Number(
                integer=kind == "integer",
                minimum=_number(schema.get("minimum")),
                maximum=_number(schema.get("maximum")),
                **told,
            )
        if kind == "string":
            return _text(schema)
        if kind == "null":
            return _choice([None], **told)
        if kind == "array" and "prefixItems" not in schema and isinstance(schema.get("items"), dict):
            item = self.place(schema["items"], depth + 1)
            least, most = _count(schema.get("minItems")), _count(schema.get("maxItems"))
            return Items(item=item, least=least or 0, most=most, **told)
        properties: Any = schema.get("properties")
        if kind == "object" and isinstance(properties, dict) and properties:
            return self._group(schema, cast("dict[str, Any]", properties), depth)
        return Json(**told)

    def _group(self, schema: Schema, properties: dict[str, Any], depth: int) -> Node:
        named: Any = schema.get("required")
        required = cast("list[Any]", named) if isinstance(named, list) else []
        entries: list[Entry] = []
        for key, one in properties.items():
            entries.append(Entry(key=key, place=self.place(one, depth + 1, required=key in required)))
        return Group(entries=tuple(entries), **_told(schema))


def _text(schema: Schema) -> Node:
    if schema.get("format") == "date-time":
        return Moment(**_told(schema))
    # A browser reads a pattern otherwise than JSON schema does, so it is the run that holds the text against it.
    kind, most = _INPUTS.get(str(schema.get("format"))), _count(schema.get("maxLength"))
    if kind is None:
        kind = "text" if "pattern" in schema or (most is not None and most <= _SHORT_TEXT) else "textarea"
    return Text(kind=kind, needed=bool(_count(schema.get("minLength"))), **_told(schema))


def _choice(values: list[Any], **told: Any) -> Choice:
    labels = tuple("None" if one is None else one if isinstance(one, str) else json.dumps(one) for one in values)
    return Choice(values=tuple(values), labels=labels, **told)


def _values(schema: Schema) -> list[Any]:
    """Return the values that a schema names one by one."""
    if "const" in schema:
        return [schema["const"]]
    found: Any = schema.get("enum")
    return cast("list[Any]", found) if isinstance(found, list) else []


def _is_decimal(schema: Schema, kinds: list[Any]) -> bool:
    """Whether a schema is a decimal's: typed as text, so that no digit of it is lost."""
    found = sorted(str(_mapping(one).get("type")) for one in kinds)
    told = schema.get("format") == "decimal" or any("pattern" in _mapping(one) for one in kinds)  # ours, or Pydantic's
    return told and found == ["number", "string"]


def _label(schema: Schema) -> str:
    for key in ("title", "type"):
        if isinstance(schema.get(key), str):
            return schema[key]
    values = _values(schema)
    return json.dumps(values[0]) if len(values) == 1 else "JSON"


def _json(schema: Schema) -> Json:
    return Json(**_told(schema))


def _told(schema: Schema) -> dict[str, Any]:
    return {key: schema[key] for key in ("title", "description") if isinstance(schema.get(key), str)}


def _mapping(one: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", one) if isinstance(one, dict) else {}


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
