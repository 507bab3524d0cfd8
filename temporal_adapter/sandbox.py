"""What Temporal's workflow sandbox lets through of the adapter, in workers as in replays."""

from __future__ import annotations

import dataclasses

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner


def let_through(runner: SandboxedWorkflowRunner) -> SandboxedWorkflowRunner:
    """Return a runner whose sandbox uses the adapter's modules as they are.

    They hold no state and are deterministic by construction, so importing them again for each run would only cost time
    and memory.
    """
    return dataclasses.replace(
        runner, restrictions=runner.restrictions.with_passthrough_modules("temporal_adapter", "msgspec")
    )
