"""JSON schemas of types: what people, forms and other languages are told of the response that a request wants.

What Pydantic says of a type, with MAF's own types, which it does not know, described as their `from_dict` takes them.
Nothing here decides whether a response fits: that is `coerce`'s.
"""

from __future__ import annotations

import functools
import json
from typing import Any, cast

import pydantic
from agent_framework import Content, Message, WorkflowEvent
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, core_schema

MAX_SCHEMA = 32 * 1024
"""Characters that the JSON of a schema may have; a type with a longer one is said to have none."""

APPROVAL_SCHEMA: dict[str, Any] = {"type": "boolean"}
"""Of a response to a tool call that waits for approval: true or false."""

_CONTENT: dict[str, Any] = {
    "title": "Content",
    "anyOf": [
        {"type": "string", "title": "Text"},
        {
            "type": "object",
            "title": "Any content, as MAF's Content.to_dict writes it",
            "properties": {"type": {"type": "string"}},
            "required": ["type"],
        },
    ],
}
_MESSAGE: dict[str, Any] = {
    "title": "Message",
    "type": "object",
    "properties": {
        "role": {"type": "string", "enum": ["user", "assistant", "system", "tool"], "default": "user"},
        "contents": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "string"},
                    {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]},
                ]
            },
        },
    },
    "required": ["role", "contents"],
}


def response_schema(event: WorkflowEvent[Any]) -> dict[str, Any] | None:
    """Return the JSON schema of the response that a `request_info` event waits for, or None if it has none.

    A tool call that waits for approval is answered by a boolean. Of a type that Pydantic does not know there is a
    schema if it is one of MAF's, or has a `from_dict` as they have. A schema of more than `MAX_SCHEMA` characters is
    none. `{}` is the schema of `Any`. Never raises.
    """
    return dict(APPROVAL_SCHEMA) if asks_for_approval(event) else json_schema(event.response_type)


def asks_for_approval(event: WorkflowEvent[Any]) -> bool:
    """Whether a request is a tool call that waits for approval, which true or false may answer."""
    data = event.data
    return event.response_type is Content and isinstance(data, Content) and data.type == "function_approval_request"


def json_schema(expression: Any) -> dict[str, Any] | None:
    """Return the JSON schema of what a type expression takes, or None; see `response_schema`."""
    try:
        text = _schema_text(expression)
    except TypeError:  # it cannot be hashed
        text = _schema_text.__wrapped__(expression)
    return None if text is None else cast("dict[str, Any]", json.loads(text))


@functools.lru_cache(maxsize=256)  # a schema takes milliseconds, and a run may make a thousand requests of one type
def _schema_text(expression: Any) -> str | None:
    try:
        text = json.dumps(_made(expression), allow_nan=False)
    except Exception:  # of types without a schema, and of whatever users' classes do to make theirs
        return None
    return text if len(text) <= MAX_SCHEMA else None


def _made(expression: Any) -> JsonSchemaValue:
    try:
        adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(expression)
        return adapter.json_schema(schema_generator=_Generator)
    except pydantic.errors.PydanticSchemaGenerationError:
        pass
    # Types that Pydantic does not know are let through by a setting, which a dataclass inherits from what is around it.
    settings = pydantic.ConfigDict(arbitrary_types_allowed=True)
    around: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(cast("Any", list)[expression], config=settings)
    schema = around.json_schema(schema_generator=_Generator)
    definitions, item = schema.get("$defs", {}), schema["items"]
    name = str(item.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions and json.dumps(definitions).count(f'"#/$defs/{name}"') == 0:
        item = definitions.pop(name)
    return {"$defs": definitions, **item} if definitions else item


class _Generator(GenerateJsonSchema):
    """Pydantic's, with MAF's types, without warnings, and without defaults that JSON cannot say."""

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> JsonSchemaValue:
        cls = schema["cls"]
        if cls is Content:
            return dict(_CONTENT)
        if cls is Message:
            return dict(_MESSAGE)
        if callable(getattr(cls, "from_dict", None)):
            return {"title": cls.__name__, "type": "object"}
        return super().is_instance_schema(schema)

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        # Else it is the schema of `float | str`, and a form could not tell that the digits are to be kept.
        return {**super().decimal_schema(schema), "format": "decimal"}

    def encode_default(self, dft: Any) -> Any:
        try:
            return json.loads(json.dumps(super().encode_default(dft), allow_nan=False))
        except ValueError as error:
            raise PydanticSerializationError(str(error)) from error  # which leaves the default out

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        pass
