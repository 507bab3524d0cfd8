"""The search attribute by which runs that wait for people are found: whether a namespace has it."""

from __future__ import annotations

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError

from temporal_adapter.definitions import ConfigurationError
from temporal_adapter.wire.names import PENDING_REQUESTS_ATTRIBUTE


async def attribute_type(client: Client) -> str | None:
    """Return the type that the attribute has in a client's namespace, such as `Int`; None if it is not there.

    Raises:
        temporalio.service.RPCError: The server does not let this client look.
    """
    request = ListSearchAttributesRequest(namespace=client.namespace)
    kind = (await client.operator_service.list_search_attributes(request)).custom_attributes.get(
        PENDING_REQUESTS_ATTRIBUTE
    )
    if kind is None:
        return None
    return IndexedValueType.Name(kind).removeprefix("INDEXED_VALUE_TYPE_").capitalize()


def creating_it(client: Client) -> str:
    """Return the command that creates the attribute."""
    return (
        f"temporal operator search-attribute create --namespace {client.namespace} "
        f"--name {PENDING_REQUESTS_ATTRIBUTE} --type Int"
    )


async def check_attribute(client: Client) -> None:
    """See that a namespace has the attribute: the runs of a worker that sets one that is not there stand still.

    Nothing is said where the server does not let this client look.

    Raises:
        ConfigurationError: It does not, or has it of another type; says what to do.
    """
    try:
        kind = await attribute_type(client)
    except RPCError:
        return
    if kind is None:
        raise ConfigurationError(
            f"search_attributes=True, and namespace {client.namespace!r} has no search attribute "
            f"{PENDING_REQUESTS_ATTRIBUTE!r}. Create it: {creating_it(client)}"
        )
    if kind != "Int":
        raise ConfigurationError(
            f"search_attributes=True, and {PENDING_REQUESTS_ATTRIBUTE!r} of namespace {client.namespace!r} is of type "
            f"{kind}. Remove it, then: {creating_it(client)}"
        )
