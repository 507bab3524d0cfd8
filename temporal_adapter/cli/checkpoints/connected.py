"""The Temporal server that a command's options name. Nothing about runs or checkpoints belongs here."""

from __future__ import annotations

import dataclasses
import shlex

from temporalio.client import Client
from temporalio.converter import DataConverter

from temporal_adapter.cli.options import StoreOptions
from temporal_adapter.connection import DEFAULT_NAMESPACE, connect

from .opened import payload_codec


async def connected(options: StoreOptions) -> Client:
    """Return a client of the server and namespace that options name, with the payload codec they name.

    Raises:
        CliError: There is no such codec.
        ConnectionFailed: The server does not answer, or has no such namespace.
    """
    converter = dataclasses.replace(DataConverter.default, payload_codec=payload_codec(options))
    return await connect(options.profile, namespace=options.namespace, data_converter=converter)


def temporal_command(client: Client, options: StoreOptions, *words: str) -> str:
    """Return a command line of Temporal's own for the same server and namespace, to be typed in a shell."""
    profile = [] if options.profile is None else ["--profile", options.profile]
    namespace = [] if client.namespace == DEFAULT_NAMESPACE else ["--namespace", client.namespace]
    return shlex.join(["temporal", *words, *namespace, *profile])
