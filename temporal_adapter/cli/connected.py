"""The Temporal server that a command's options name. Nothing about runs or checkpoints belongs here."""

from __future__ import annotations

import dataclasses
import shlex

from temporalio.client import Client
from temporalio.converter import DataConverter

from temporal_adapter.connection import DEFAULT_NAMESPACE, connect

from .codec import payload_codec
from .options import ServerOptions


async def connected(options: ServerOptions) -> Client:
    """Return a client of the server and namespace that options name, with the payload codec they name.

    Raises:
        CliError: There is no such codec.
        ConnectionFailed: The server does not answer, or has no such namespace.
    """
    converter = dataclasses.replace(DataConverter.default, payload_codec=payload_codec(options))
    return await connect(options.profile, namespace=options.namespace, data_converter=converter)


def our_command(client: Client, options: ServerOptions, *words: str) -> str:
    """Return a command line of `temporal-adapter` for the same server and namespace, to be typed in a shell."""
    return _command("temporal-adapter", client, options, words)


def temporal_command(client: Client, options: ServerOptions, *words: str) -> str:
    """Return a command line of Temporal's own for the same server and namespace, to be typed in a shell."""
    return _command("temporal", client, options, words)


def _command(program: str, client: Client, options: ServerOptions, words: tuple[str, ...]) -> str:
    profile = [] if options.profile is None else ["--profile", options.profile]
    namespace = [] if client.namespace == DEFAULT_NAMESPACE else ["--namespace", client.namespace]
    return shlex.join([program, *words, *namespace, *profile])
