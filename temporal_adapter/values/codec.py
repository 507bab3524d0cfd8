"""The codec: chooses the kind of each class, once, and keeps what it chose.

What must never be here: the form of a kind (`scalars`, `containers`, `records`, `objects`), or which classes are
trusted (`trust`).
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

import msgspec
import pydantic
from agent_framework import Workflow

from temporal_adapter.wire.tags import TAG, bytes_to_text, plain, text_to_bytes

from . import containers, objects, pickling, records, scalars
from .declared import declared_types
from .errors import DecodeError, EncodeError
from .layout import is_plain, own_hook
from .trust import ClientTrust, Trust, is_namedtuple
from .typenames import decode_type, encode_type, is_type_expression, pydantic_origin, type_name
from .walk import ITSELF, DecodeHandler, Decoder, EncodeHandler, Encoder


def graph_codec(workflow: Workflow, types: Iterable[type] = (), allow_pickle: bool = True) -> Codec:
    """Return the codec of a built workflow: for the classes its graph declares, and `types`."""
    registered = {type_name(cls): cls for cls in types}
    return Codec({**declared_types(workflow), **registered}, allow_pickle=allow_pickle)


def client_codec() -> Codec:
    """Return the codec of a client, which knows no graph: it reads the types that the process has loaded."""
    return Codec(allow_pickle=False, unknown="plain")


class Codec:
    """Python objects to tagged JSON and back. Safe to share between threads.

    One codec belongs to one built graph: classes that a function defines anew each time it builds a graph have
    equal names, and only that graph's own will do.
    """

    def __init__(
        self,
        types: Mapping[str, type] | None = None,
        *,
        allow_pickle: bool = True,
        unknown: Literal["error", "plain"] = "error",
        raw_representations: Literal["keep", "omit"] = "keep",
    ) -> None:
        """Make a codec.

        Args:
            types: Declared and registered classes by name (`declared_types`). Another name for a class, one that it
                had when objects were stored, may be among them.
            allow_pickle: Whether objects without a readable form may travel as restricted pickles.
            unknown: `error` is for workers: only trusted classes are stored and rebuilt. `plain` is for clients: any
                data class that the process has loaded is, nothing is imported, pickles stay as they are, and what is
                not known becomes plain JSON.
            raw_representations: Whether the `raw_representation` of MAF's objects is stored when it can be, or becomes
                None always, as when MAF pickles. Of a streamed response they are many times as large as the response.
        """
        self._types = types or {}
        self._lenient = unknown == "plain"
        self._allow_pickle = allow_pickle
        self._trust = ClientTrust(self._types) if self._lenient else Trust(self._types)
        self._encoders: dict[type, EncodeHandler] = {
            **ITSELF,
            **scalars.ENCODERS,
            **containers.ENCODERS,
            objects.RAW_TYPE: objects.encode_raw if raw_representations == "keep" else objects.omit_raw,
        }
        self._kinds: dict[str, DecodeHandler] = {
            **scalars.DECODERS,
            **containers.DECODERS,
            **dict.fromkeys(
                ("dataclass", "model", "struct", "namedtuple", "enum", "exception", "object"), self._decode_record
            ),
            "type": self._decode_type_value,
            "pickle": self._decode_pickle,
        }
        self._builders: dict[str, DecodeHandler] = {}

    def without_pickle(self) -> Codec:
        """Return a codec for the same classes that neither writes nor reads pickles."""
        return Codec(self._types, allow_pickle=False)

    def encode(self, obj: Any, path: str = "") -> Any:
        """Return the tagged JSON of an object.

        Args:
            obj: The object. Whatever it shares with others, or holds twice, is stored as often.
            path: Where it stands, for the error: `report`, or `state['totals']`.

        Raises:
            EncodeError: It, or something in it, cannot be stored. The message names the attribute path and the type.
        """
        try:
            return Encoder(self._encoders, self._plan_encoder).value(obj)
        except EncodeError as error:
            if path:
                error.within(path)
            raise
        except RecursionError:
            error = EncodeError("nesting too deep for this call stack cannot be stored. Store ids instead of objects.")
            error.within(path)
            raise error from None

    def decode(self, data: Any) -> Any:
        """Return the object of tagged JSON.

        Raises:
            DecodeError: It is of an unknown kind, a wrong shape, or a type that is not trusted.
        """
        try:
            return Decoder(self._kinds, self._builders, self._plan_builder, lenient=self._lenient).value(data)
        except RecursionError:
            raise DecodeError("tagged JSON is nested too deeply.") from None

    def encode_type(self, expression: Any) -> Any:
        """Return the JSON of a class, generic alias, union or Literal, such as a response type.

        Raises:
            EncodeError: A class in it is not trusted, or a part is not a type.
        """
        return encode_type(expression, self._trust.name_of_type, self.encode)

    def decode_type(self, data: Any) -> Any:
        """Reverse `encode_type`.

        Raises:
            DecodeError: The shape is wrong, or a class in it is not trusted.
        """
        try:
            return decode_type(data, self._trust.resolve_type, self.decode)
        except DecodeError:
            raise
        except Exception as error:  # of a class's own __class_getitem__ too
            raise DecodeError(f"a type expression cannot be read: {type(error).__name__}: {error}") from error

    # --- encoding -------------------------------------------------------------------------------------------

    def _plan_encoder(self, obj: object) -> EncodeHandler:
        """Choose what encodes objects of a class met for the first time. Raises `EncodeError` if it is not trusted."""
        cls = cast("type[Any]", type(obj))
        if is_type_expression(obj):
            handler: EncodeHandler = self._encode_type_value
        else:
            self._trust.name_of(pydantic_origin(cls) or cls)
            handler = self._record_encoder(cls, self.encode_type(cls))
        self._encoders[cls] = handler
        return handler

    def _record_encoder(self, cls: type[Any], name: Any) -> EncodeHandler:
        if issubclass(cls, enum.Enum):
            return records.enum_encoder(cls, name)
        if issubclass(cls, BaseException):
            return objects.exception_encoder(cls, name)
        if issubclass(cls, msgspec.Struct):
            return records.struct_encoder(cls, name)
        if is_namedtuple(cls):
            return records.namedtuple_encoder(cls, name)
        if _is_model(cls):
            return records.model_encoder(cls, name)
        if _is_dataclass(cls):
            return records.dataclass_encoder(cls, name)

        def pickled(encoder: Encoder, obj: object) -> Any:
            return self._encode_pickle(obj, name)

        return objects.object_encoder(cls, name, pickled)

    def _encode_type_value(self, encoder: Encoder, obj: Any) -> Any:
        return {TAG: "type", "value": self.encode_type(obj)}

    def _encode_pickle(self, obj: object, name: Any) -> Any:
        if not self._allow_pickle:
            raise EncodeError(
                f"type {name} cannot be stored, since it has no readable form and pickling is turned off. Give it "
                f"__getstate__ and __setstate__ instead of __reduce__, or make it a dataclass or a Pydantic model."
            )
        data = pickling.dump_pickle(obj, name, self._trust.resolve)
        return {TAG: "pickle", "type": name, "data": bytes_to_text(data)}

    # --- decoding -------------------------------------------------------------------------------------------

    def _plan_builder(self, type_data: Any) -> DecodeHandler:
        """Choose what builds objects of a class met for the first time. Raises `DecodeError` if it is not trusted."""
        key = type_data if isinstance(type_data, str) else json.dumps(type_data, sort_keys=True)
        builder = self._builders.get(key)
        if builder is None:
            builder = self._builders[key] = self._record_builder(self._resolve_record(type_data), type_data)
        return builder

    def _resolve_record(self, type_data: Any) -> type[Any]:
        """Return a trusted class by its name, or by that of its origin if it is a parametrized Pydantic model."""
        if isinstance(type_data, str):
            return self._trust.resolve(type_data)
        if isinstance(type_data, dict) and isinstance(name := cast("dict[str, Any]", type_data).get("generic"), str):
            cls = self.decode_type(cast("Any", type_data))
            if isinstance(cls, type) and pydantic_origin(cls) is self._trust.resolve(name):
                return cast("type[Any]", cls)
        raise DecodeError("the type of a stored object is the name of a class.")

    def _record_builder(self, cls: type[Any], name: Any) -> DecodeHandler:
        # By what the class is today: a dataclass may have become a Pydantic model since.
        if issubclass(cls, enum.Enum):
            return records.enum_builder(cls, name)
        if issubclass(cls, BaseException):
            return objects.exception_builder(cls, name)
        if issubclass(cls, msgspec.Struct):
            return records.struct_builder(cls, name)
        if is_namedtuple(cls):
            return records.namedtuple_builder(cls, name)
        if _is_model(cls):
            return records.model_builder(cls, name)
        if _is_dataclass(cls):
            return records.dataclass_builder(cls, name)
        return objects.object_builder(cls, name)

    def _decode_record(self, decoder: Decoder, data: dict[str, Any]) -> Any:
        try:
            builder = decoder.builder(data["type"])
        except DecodeError:
            if self._lenient:
                return plain(data)
            raise
        return builder(decoder, data)

    def _decode_type_value(self, decoder: Decoder, data: dict[str, Any]) -> Any:
        try:
            return self.decode_type(data["value"])
        except DecodeError:
            if self._lenient:
                return plain(data)
            raise

    def _decode_pickle(self, decoder: Decoder, data: dict[str, Any]) -> Any:
        if self._lenient:
            return data
        if not self._allow_pickle:
            raise DecodeError(f"type {data['type']} was stored as a pickle, and pickling is turned off.")
        resolve = self._trust.resolve
        cls = self._resolve_record(data["type"])
        if not (_is_object(cls) and pickling.reduces_in_its_own_way(cls)):
            raise DecodeError(
                f"type {data['type']} was stored as a pickle, and is not one that this release stores so. If it had a "
                f"__reduce__ of its own then, keep that until what was stored with it is gone."
            )
        obj = pickling.load_pickle(text_to_bytes(data["data"]), resolve)
        if type(obj) is not cls:
            raise DecodeError(f"a pickle of type {data['type']} holds another type.")
        return obj


def _is_object(cls: type[Any]) -> bool:
    """Whether instances of a class are none of the records: `objects` stores them, or a pickle."""
    if issubclass(cls, (enum.Enum, BaseException, msgspec.Struct)) or is_namedtuple(cls):
        return False
    return not _is_model(cls) and not _is_dataclass(cls)


def _is_model(cls: type[Any]) -> bool:
    """Whether a class is a Pydantic model whose author did not say how to pickle it."""
    if not issubclass(cls, pydantic.BaseModel):
        return False
    hooks = (getattr(cls, name, None) for name in ("__getstate__", "__setstate__"))
    return all(getattr(hook, "__module__", "").startswith("pydantic") for hook in hooks)


def _is_dataclass(cls: type[Any]) -> bool:
    """Whether a class is a dataclass that is nothing else besides, and whose author did not say how to pickle it."""
    hooks = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")
    return dataclasses.is_dataclass(cls) and is_plain(cls) and not any(own_hook(cls, hook) for hook in hooks)
