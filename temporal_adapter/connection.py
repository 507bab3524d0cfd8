"""Connects to Temporal as the environment says, in Temporal's own terms (`temporalio.envconfig`).

TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS..., and profiles of Temporal's configuration file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, Plugin
from temporalio.converter import DataConverter
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.service import RPCError, RPCStatusCode

DEFAULT_ADDRESS = "localhost:7233"
"""Where Temporal listens when nothing says otherwise, as in Temporal's command line."""

DEFAULT_NAMESPACE = "default"
"""The namespace when nothing says otherwise."""


class ConnectionFailed(Exception):
    """The Temporal server or namespace cannot be used; the message names it and says what to do."""


async def connect(
    profile: str | None = None,
    *,
    address: str | None = None,
    namespace: str | None = None,
    plugins: Sequence[Plugin] = (),
    data_converter: DataConverter = DataConverter.default,
) -> Client:
    """Return a client of the server and namespace that the environment names, both known to exist.

    Args:
        profile: A profile of Temporal's configuration file; by default TEMPORAL_PROFILE, then `default`.
        address: A server, as `host:port`, whichever the environment names.
        namespace: A namespace, whichever the environment names.
        plugins: For the client, and so for its workers.
        data_converter: For the client; one with the payload codec that the runs' clients encrypt with, for instance.

    Raises:
        ConnectionFailed: The configuration cannot be read, or nothing usable answers at the address.
    """
    config = _configuration(profile)
    address = address or config.get("target_host", DEFAULT_ADDRESS)
    try:
        settings: dict[str, Any] = {**config, "target_host": address}
        if namespace is not None:
            settings["namespace"] = namespace
        client = await Client.connect(**settings, plugins=plugins, data_converter=data_converter)
    except (RuntimeError, ValueError) as error:  # the SDK's errors for no answer, and for an address that is none
        raise ConnectionFailed(
            f"no Temporal server answers at {address} ({_reason(error)}). "
            "Start one with `temporal server start-dev`, or set TEMPORAL_ADDRESS to one that runs."
        ) from error
    await _check_namespace(client, address)
    return client


def configured_namespace(profile: str | None = None) -> str:
    """Return the namespace that the environment names, without connecting; `default` when it names none.

    Raises:
        ConnectionFailed: The configuration cannot be read.
    """
    return _configuration(profile).get("namespace") or DEFAULT_NAMESPACE  # empty as good as none, as for the server


def _configuration(profile: str | None) -> ClientConnectConfig:
    try:
        return ClientConfig.load_client_connect_config(profile)
    except (RuntimeError, OSError) as error:  # the SDK's ConfigError is a RuntimeError
        raise ConnectionFailed(
            f"the Temporal configuration cannot be used: {error}. "
            "It comes from the TEMPORAL_* environment variables and from the file that `temporal config list` shows."
        ) from error


async def _check_namespace(client: Client, address: str) -> None:
    """Ask now: a worker would log a warning of its own first, and a run would fail in words about something else."""
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise ConnectionFailed(
                f"the Temporal server at {address} has no namespace {client.namespace!r}. Set TEMPORAL_NAMESPACE to "
                f"one it has, or create it: temporal operator namespace create --namespace {client.namespace}"
            ) from error
        if error.status is not RPCStatusCode.PERMISSION_DENIED:  # it may be allowed to work there all the same
            raise ConnectionFailed(f"the Temporal server at {address} refused: {error.message}") from error


def _reason(error: Exception) -> str:
    """Return the cause in the SDK's message, which wraps it in names of its own types."""
    text = str(error).removeprefix("Failed client connect: ")
    causes: list[str] = re.findall(r'(?:message|error): "([^"]+)"', text)
    return causes[-1] if causes else text
