"""Options that commands share: declared once, taken by naming their class in a command's parameters.

    @command(group, "list")
    async def list_checkpoints(store: StoreOptions, limit: Annotated[int | None, ...] = None) -> ExitCode: ...

has the options of `StoreOptions` and `--limit`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, cast, get_type_hints

import typer

from .running import ExitCode, exit_code

DEFAULT_CHECKPOINT_STORE = ".checkpoints"  # the workers' own default


@dataclasses.dataclass(frozen=True, kw_only=True)
class JsonOption:
    """What every command takes."""

    as_json: Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")] = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProfileOptions(JsonOption):
    """What a command takes that needs to know the Temporal namespace."""

    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="TEMPORAL_NAMESPACE, else the profile's, else default",
            help="The Temporal namespace of the runs.",
        ),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="TEMPORAL_PROFILE, else default",
            help="A profile of Temporal's configuration file.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerOptions(ProfileOptions):
    """What a command takes that connects to the server."""

    payload_codec: Annotated[
        str | None,
        typer.Option(
            envvar="TEMPORAL_ADAPTER_PAYLOAD_CODEC",
            metavar="PACKAGE.MODULE:OBJECT",
            help="The payload codec that the workers' client encrypts with, or a function or class that makes it.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreOptions(ServerOptions):
    """What a command takes that reads the checkpoint store."""

    checkpoint_store: Annotated[
        str,
        typer.Option(
            envvar="TEMPORAL_ADAPTER_CHECKPOINT_STORE",
            metavar="URL",
            help="The workers' checkpoint store: a path, or a file://, s3://, gs:// or az:// URL.",
        ),
    ] = DEFAULT_CHECKPOINT_STORE


Command = Callable[..., Coroutine[Any, Any, ExitCode]]


def command(group: typer.Typer, name: str) -> Callable[[Command], Command]:
    """Add an async function to a group as a command; its docstring is the help, what it returns the exit code."""

    def added(function: Command) -> Command:
        @functools.wraps(function)
        def run(**given: Any) -> None:
            raise typer.Exit(exit_code(function(**_gathered(function, given))))

        parameters = _spread(function)
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        del run.__wrapped__  # type: ignore[attr-defined]
        group.command(name)(run)
        return function

    return added


def _spread(function: Command) -> list[inspect.Parameter]:
    """Return a function's parameters, with the fields of an option class in place of one that is annotated so."""
    own: list[inspect.Parameter] = []
    shared: list[inspect.Parameter] = []
    hints = get_type_hints(function, include_extras=True)
    for one in inspect.signature(function).parameters.values():
        hint = hints[one.name]
        if dataclasses.is_dataclass(hint):
            shared += _parameters(hint)
        else:
            own.append(one.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    return [*own, *shared]


def _parameters(options: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(options, include_extras=True)
    # The most particular come first in the help, `--json` last.
    fields = sorted(
        dataclasses.fields(options), key=lambda field: (field.name == "as_json", _is_inherited(options, field))
    )
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields
    ]


def _is_inherited(options: Any, field: dataclasses.Field[Any]) -> bool:
    return field.name not in inspect.get_annotations(options)


def _gathered(function: Command, given: Mapping[str, Any]) -> dict[str, Any]:
    """Reverse `_spread` for the values that came."""
    hints: dict[str, Any] = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    gathered: dict[str, Any] = {}
    for name, hint in hints.items():
        if dataclasses.is_dataclass(hint):
            fields = {field.name: given[field.name] for field in dataclasses.fields(hint)}
            gathered[name] = cast("Callable[..., Any]", hint)(**fields)
        else:
            gathered[name] = given[name]
    return gathered
