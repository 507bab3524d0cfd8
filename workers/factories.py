"""Finds workflow factories by name: `package.module:attribute`, as given on a command line.

It imports the module and looks the attribute up; it never calls a factory.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import FunctionType, ModuleType
from typing import Any, cast

from agent_framework import Workflow

from temporal_adapter.definitions import WorkflowSource


class FactoryNotFound(Exception):
    """A name stands for no workflow factory; the message says what there is instead."""


def find_factory(name: str) -> WorkflowSource:
    """Return the workflow factory, or the built workflow, that `package.module:attribute` stands for.

    The working directory is importable, as it is for `python -m`.

    Raises:
        FactoryNotFound: The name is malformed, the module cannot be imported, or the attribute is no factory.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise FactoryNotFound(f"{name!r} is not of the form package.module:factory, such as shop.orders:build_orders.")
    module = _imported(module_name)
    if not hasattr(module, attribute):
        raise FactoryNotFound(f"module {module_name!r} has no {attribute!r}{_candidates(module)}")
    found: Any = getattr(module, attribute)
    if not isinstance(found, Workflow) and (not callable(found) or isinstance(found, type)):
        kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
        raise FactoryNotFound(f"{name!r} is {kind}, and not a function that builds a workflow{_candidates(module)}")
    return cast(WorkflowSource, found)


def _imported(module_name: str) -> ModuleType:
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise FactoryNotFound(
                f"there is no module {missing!r} in {os.getcwd()} or among the installed packages."
            ) from error
        raise FactoryNotFound(f"module {module_name!r} imports {missing!r}, which is not installed.") from error
    except Exception as error:  # whatever a user's module raises when it is imported
        raise FactoryNotFound(f"module {module_name!r} cannot be imported: {described(error)}") from error


def described(error: Exception) -> str:
    """Return an error of a user's code in one line: its type, message, and where it was raised."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):  # names its file and line itself
        return text
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return text if traceback is None else f"{text} ({traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno})"


def _candidates(module: ModuleType) -> str:
    """Return, as the end of a sentence, what the module has that could be meant."""
    names = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (isinstance(value, Workflow) or (isinstance(value, FunctionType) and _belongs_to(value, module)))
    ]
    return f"; it has {', '.join(names)}." if names else "; it has no functions."


def _belongs_to(function: FunctionType, module: ModuleType) -> bool:
    """Whether the function was written in the module, or in the package that the module is."""
    return f"{function.__module__}.".startswith(f"{module.__name__}.")
