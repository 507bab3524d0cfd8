"""Finds objects by name: `package.module:attribute`, as given on a command line.

It imports the module and looks the attribute up; it never calls a workflow factory. Nothing here knows a command line.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Collection
from pathlib import Path, PurePath
from types import FunctionType, ModuleType
from typing import Any, cast

from agent_framework import Workflow
from temporalio.converter import PayloadCodec

from temporal_adapter.definitions import WorkflowSource
from temporal_adapter.migration import Migration


class ObjectNotFound(Exception):
    """A name stands for nothing of the kind that was asked for; the message says what there is instead."""


def find_factory(name: str) -> WorkflowSource:
    """Return the workflow factory, or the built workflow, that `package.module:attribute` stands for.

    The working directory is importable, as it is for `python -m`.

    Raises:
        ObjectNotFound: The name is malformed, the module cannot be imported, or the attribute is no factory.
    """
    module, found = _found(name, "package.module:factory, such as shop.orders:build_orders", (FunctionType,))
    if not isinstance(found, Workflow) and (not callable(found) or isinstance(found, type)):
        kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
        raise ObjectNotFound(
            f"{name!r} is {kind}, and not a function that builds a workflow{_candidates(module, (FunctionType,))}"
        )
    if inspect.iscoroutinefunction(found):
        raise ObjectNotFound(
            f"{name!r} is an async function; a factory is a plain one, `def`, that returns a Workflow."
        )
    return cast(WorkflowSource, found)


def find_object(name: str) -> Any:
    """Return the object that `package.module:attribute` stands for, whatever it is.

    Raises:
        ObjectNotFound: The name is malformed, the module cannot be imported, or it has no such attribute.
    """
    return _found(name, "package.module:object, such as shop.security:codec", (FunctionType, type))[1]


def find_migration(name: str) -> Migration:
    """Return the function `(checkpoint, workflow) -> checkpoint` that `package.module:function` stands for.

    Raises:
        ObjectNotFound: There is none.
    """
    found = find_object(name)
    if not callable(found):
        raise ObjectNotFound(f"{name!r} is of type {type(found).__name__}, and no function.")
    return cast(Migration, found)


def find_payload_codec(name: str) -> PayloadCodec:
    """Return the payload codec that `package.module:object` stands for, or that the function or class there makes.

    Raises:
        ObjectNotFound: There is none.
    """
    module, found = _found(name, "package.module:object, such as shop.security:codec", (FunctionType, type))
    if callable(found) and not isinstance(found, PayloadCodec):
        try:
            found = found()
        except Exception as error:  # whatever a user's function raises
            raise ObjectNotFound(f"{name!r} cannot make its codec: {described(error)}") from error
    if not isinstance(found, PayloadCodec):
        raise ObjectNotFound(
            f"{name!r} of module {module.__name__!r} is of type {type(found).__name__}, and neither a "
            "temporalio.converter.PayloadCodec nor a function or class that makes one."
        )
    return found


def _found(name: str, form: str, kinds: tuple[type, ...]) -> tuple[ModuleType, Any]:
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise ObjectNotFound(f"{name!r} is not of the form {form}.")
    if module_name.endswith(".py") or "/" in module_name:
        dotted = ".".join(PurePath(module_name.removesuffix(".py")).parts)
        raise ObjectNotFound(f"{module_name!r} is a file: name its module, without .py, as {dotted}:{attribute}.")
    module = _imported(module_name)
    if not hasattr(module, attribute):
        raise ObjectNotFound(f"module {module_name!r} has no {attribute!r}{_candidates(module, kinds)}")
    return module, getattr(module, attribute)


def _imported(module_name: str) -> ModuleType:
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise ObjectNotFound(
                f"there is no module {missing!r} in {os.getcwd()} or among the installed packages."
            ) from error
        raise ObjectNotFound(f"module {module_name!r} imports {missing!r}, which is not installed.") from error
    except Exception as error:  # whatever a user's module raises when it is imported
        raise ObjectNotFound(f"module {module_name!r} cannot be imported: {described(error)}") from error


def described(error: Exception, *, ours: Collection[Path] = ()) -> str:
    """Return an error of a user's code in one line: its type, message, and the line of theirs that led to it.

    Args:
        error: What was raised.
        ours: Files that are no user's code either, beside those of this package.
    """
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):  # names its file and line itself
        return text
    frames = traceback.extract_tb(error.__traceback__)
    not_theirs = (Path(__file__).parent, *ours)
    theirs = (frame for frame in reversed(frames) if _is_of_user(frame.filename, not_theirs))
    frame = next(theirs, frames[-1] if frames else None)
    return text if frame is None else f"{text} ({frame.filename}:{frame.lineno})"


def _is_of_user(filename: str, not_theirs: Collection[Path]) -> bool:
    """Whether a file is neither Python's, nor an installed package's, nor of the programs that call it."""
    path = Path(filename)
    installed = ("site-packages", "dist-packages")
    if filename.startswith("<") or any(part in installed for part in path.parts):
        return False
    return not any(path.is_relative_to(folder) for folder in (sysconfig.get_path("stdlib"), *not_theirs))


def _candidates(module: ModuleType, kinds: tuple[type, ...]) -> str:
    """Return, as the end of a sentence, what of these kinds the module has that could be meant."""
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (isinstance(value, Workflow) or (isinstance(value, kinds) and _belongs_to(value, module)))
    ]
    return f"; it has {', '.join(names)}." if names else "; it has none such."


def _belongs_to(one: Any, module: ModuleType) -> bool:
    """Whether a function or class was written in the module, or in the package that the module is."""
    return f"{one.__module__}.".startswith(f"{module.__name__}.")
