"""The payload codec that a command's options name."""

from __future__ import annotations

import functools

from temporalio.converter import PayloadCodec

from .options import ServerOptions
from .running import CliError, ExitCode


def payload_codec(options: ServerOptions) -> PayloadCodec | None:
    """Return the payload codec that options name, the same one each time.

    Raises:
        CliError: There is no such codec.
    """
    return None if options.payload_codec is None else _codec(options.payload_codec)


@functools.cache
def _codec(name: str) -> PayloadCodec:
    from temporal_adapter.loading import ObjectNotFound, find_payload_codec

    try:
        return find_payload_codec(name)
    except ObjectNotFound as error:
        raise CliError(ExitCode.USAGE, f"--payload-codec: {error}") from error
