"""The Temporal workflow: its class for each MAF workflow. Its work is `execution`'s, its doors are in `doors`.

There is one workflow type per MAF workflow name, made by `workflow_type`. Temporal's sandbox imports a workflow class
by module and name; the module's `__getattr__` makes the class for any name that `workflow_type` would give it.
"""

from __future__ import annotations

import functools
import re
import types
from typing import Any

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from temporal_adapter import wire
    from temporal_adapter.activity_errors import as_application_error
    from temporal_adapter.converter import ordered_json
    from temporal_adapter.doors import Sessions
    from temporal_adapter.engine import Finish


class AgentFrameworkRun(Sessions):
    """One run, with its queries, signals and updates."""

    @workflow.init
    def __init__(self, message: Any = None, options: Any = None, carried: Any = None) -> None:
        super().__init__(options, carried)

    async def run_template(self, message: Any = None, options: Any = None, carried: Any = None) -> Any:
        try:
            await self._begin(message, options)
            await self._take_facts_until(self._over)
            while not self._concluded():
                await self._leave()
                await self._take_facts_until(self._over)
        except BaseException as error:
            # Not when a worker merely drops the run from its cache, which looks the same from here.
            if is_cancelled_exception(error) and workflow.cancellation_reason() is not None:
                await self._cancel()
            raise
        if isinstance(self._conclusion, Finish):
            return ordered_json(wire.dump(self._conclusion.result))
        assert self._conclusion is not None
        raise as_application_error(self._conclusion.failure) from self._error


# --- one workflow type per MAF workflow ---------------------------------------------------------------------

_CLASS_PREFIX = "AgentFrameworkWorkflow_"


@functools.cache
def workflow_type(name: str) -> type[AgentFrameworkRun]:
    """Return the Temporal workflow class for the MAF workflow called `name`.

    It needs neither MAF nor the user's code, so a replayer can be given it anywhere:
    `Replayer(workflows=[workflow_type("expense-approval")])`.
    """
    class_name = _CLASS_PREFIX + re.sub(r"[^A-Za-z0-9]", lambda match: f"_{ord(match[0]):x}_", name)
    template = AgentFrameworkRun.run_template
    run = types.FunctionType(template.__code__, template.__globals__, "run", template.__defaults__)
    run.__qualname__ = f"{class_name}.run"  # Temporal takes a local-looking name for a local class
    run.__module__ = __name__
    run.__annotations__ = dict(template.__annotations__)  # as those of __init__, which Temporal compares
    namespace = {"__module__": __name__, "__qualname__": class_name, "__doc__": f"The MAF workflow {name!r}."}
    cls = type(class_name, (AgentFrameworkRun,), {**namespace, "run": workflow.run(run)})
    return workflow.defn(name=name)(cls)


def __getattr__(attribute: str) -> Any:
    if not attribute.startswith(_CLASS_PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")
    encoded = attribute.removeprefix(_CLASS_PREFIX)
    return workflow_type(re.sub(r"_([0-9a-f]+)_", lambda match: chr(int(match[1], 16)), encoded))
