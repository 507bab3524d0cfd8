"""The classes that a graph declares: what may travel in its messages, state and requests without registration.

What must never be here: how they are stored.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast, get_args

import msgspec
import pydantic
from agent_framework import Executor, FunctionExecutor, Workflow, WorkflowExecutor

from .trust import is_maf_module, is_namedtuple, is_trivial
from .typenames import module_name, pydantic_args, pydantic_origin, type_name

_FOREIGN_PACKAGES = (sys.stdlib_module_names - {"__main__"}) | {"pydantic", "pydantic_core"}


def declared_types(workflow: Workflow) -> dict[str, type]:
    """Return the classes that a workflow declares, by name.

    These are the types of its executors' handlers (inputs, requests, responses, outputs) and everything their
    annotations lead to; the structured outputs of its agents; and the data classes (dataclasses, Pydantic models,
    structs, enums, named tuples) in the modules and functions that define the executors. Workflows within
    `WorkflowExecutor`s count too.
    """
    found: dict[str, type] = {}
    # By identity: executors share modules, and a module is large.
    namespaces: dict[int, dict[str, Any] | list[Any]] = {}
    for executor in _executors(workflow):
        for expression in (*_handler_types(executor), *_agent_types(executor)):
            _collect(expression, found)
        namespaces.update((id(namespace), namespace) for namespace in _namespaces(executor))
    for namespace in namespaces.values():
        for value in list(namespace.values() if isinstance(namespace, dict) else namespace):
            if isinstance(value, type) and _is_data_class(cast("type[Any]", value)):
                _collect(value, found)
    return found


def _executors(workflow: Workflow) -> Iterator[Executor]:
    for executor in workflow.get_executors_list():
        yield executor
        if isinstance(executor, WorkflowExecutor):
            yield from _executors(executor.workflow)


def _handler_types(executor: Executor) -> Iterator[Any]:
    yield from executor.input_types
    yield from executor.output_types
    yield from executor.workflow_output_types
    # MAF has no public list of an executor's response handlers.
    handlers = cast("Mapping[tuple[Any, Any], Any]", getattr(executor, "_response_handlers", {}))
    for request_type, response_type in handlers:
        yield request_type
        yield response_type


def _agent_types(executor: Executor) -> Iterator[Any]:
    """An AgentResponse holds the class of its structured output, and an instance of it."""
    options = getattr(getattr(executor, "agent", None), "default_options", None)
    if isinstance(options, Mapping):
        response_format = cast("Mapping[str, Any]", options).get("response_format")
        if isinstance(response_format, type):
            yield cast("type[Any]", response_format)


def _namespaces(executor: Executor) -> Iterator[dict[str, Any] | list[Any]]:
    """The modules and enclosing functions in which an executor is defined: dicts of names, or lists of values."""
    functions: list[Any] = []
    for cls in type(executor).__mro__:
        module = sys.modules.get(cls.__module__)
        if module is None or cls is object or is_maf_module(cls.__module__) or is_trivial(cls):
            continue
        yield vars(module)
        functions.extend(vars(cls).values())
    if isinstance(executor, FunctionExecutor):
        functions.append(getattr(executor, "_original_func", None))
    for function in functions:
        inner = getattr(function, "__wrapped__", function)  # what @handler wrapped
        if isinstance(inner, types.FunctionType):
            yield inner.__globals__
            yield _closure(inner)


def _closure(function: types.FunctionType) -> list[Any]:
    values: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not yet assigned
            continue
    return values


def _is_data_class(cls: type[Any]) -> bool:
    if dataclasses.is_dataclass(cls):
        return True
    return issubclass(cls, (pydantic.BaseModel, msgspec.Struct, enum.Enum)) or is_namedtuple(cls)


def _collect(expression: Any, found: dict[str, type]) -> None:
    """Add the classes of a type expression, and of the annotations of those, to `found`."""
    pending: list[Any] = [expression]
    parametrized: set[type] = set()  # models that `found` does not hold, since they have no name
    while pending:
        part = pending.pop()
        if isinstance(part, (list, tuple)):
            pending.extend(cast("Iterable[Any]", part))
            continue
        args = get_args(part)
        if args:
            pending.extend((typing.get_origin(part), *args))
            continue
        if isinstance(part, enum.Enum):  # in a Literal
            part = type(part)
        if not isinstance(part, type) or is_trivial(cast("type[Any]", part)):
            continue
        cls = cast("type[Any]", part)
        origin = pydantic_origin(cls)
        if origin is not None:
            if cls in parametrized:
                continue
            parametrized.add(cls)
            found[type_name(origin)] = origin  # also RootModel itself, which is trivial only as a base
            pending.extend((origin, *pydantic_args(cls)))
        elif type_name(cls) not in found:
            found[type_name(cls)] = cls
        else:
            continue
        if not _is_foreign(cls):
            pending.extend(_annotations(cls))


def _is_foreign(cls: type) -> bool:
    """Whether the annotations of a class lead to nothing that is to be declared: it is Python's, Pydantic's, MAF's."""
    module = module_name(cls)
    package = module.partition(".")[0]
    return is_maf_module(module) or package in _FOREIGN_PACKAGES


def _annotations(cls: type[Any]) -> list[Any]:
    if issubclass(cls, pydantic.BaseModel):
        return [field.annotation for field in cls.model_fields.values()]
    try:
        return list(typing.get_type_hints(cls).values())
    except Exception:  # one name that cannot be resolved spoils them all: take those that are not strings
        own = [vars(base).get("__annotations__", {}) for base in cls.__mro__]
        return [hint for hints in own for hint in hints.values() if not isinstance(hint, str)]
