"""Reading the options that a run is started with."""

from __future__ import annotations

from typing import Any

import msgspec

from .responses import check_depth
from .schema import VERSION_KEY, WireError, load
from .shapes import StartOptions

NO_TOOLS = (
    "Run-scoped tools cannot reach the workers, which are other processes. Give the agents their tools in the factory "
    "that builds the workflow; what differs by run can come by function_invocation_kwargs."
)
"""Why a run cannot be given tools, and what to do instead."""


def parse_options(data: Any = None) -> StartOptions:
    """Return the options in the JSON of a run's second argument.

    In plain JSON, which people write, an unknown key is a mistake; in a client's it may be of a later release.

    Raises:
        WireError: The JSON has another shape, unknown keys, or kwargs that are nested too deeply.
    """
    options = load(StartOptions, {} if data is None else data)
    known = [field.encode_name for field in msgspec.structs.fields(StartOptions)]
    if options.encoding == "json":
        for key in data or ():
            if key == "tools":
                raise WireError(NO_TOOLS)
            if key not in (*known, VERSION_KEY):
                raise WireError(f"The run's options have the unknown key {key!r}. They may have: {', '.join(known)}.")
    check_depth(options.function_invocation_kwargs)
    check_depth(options.client_kwargs)
    return options
