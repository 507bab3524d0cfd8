"""What is compared: the same chain of trivial steps, once as a MAF workflow and once as a Temporal workflow by hand.

Both take a small number, add 1 to it in every step, and return it. Both give Temporal the same options, and every step
an activity type of its own. The chain by MAF writes a checkpoint before the first step and one after each.

The two are in modules of their own, so that the hand-written worker loads neither MAF nor `temporal_adapter`. Nothing
here starts, measures or prints.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityConfig

Side = Literal["maf", "hand-written"]

SIDES: tuple[Side, ...] = ("hand-written", "maf")
"""In the order in which each round runs them."""

WORKFLOW_TYPES: dict[Side, str] = {"maf": "bench-chain", "hand-written": "BenchChain"}

ACTIVITY_OPTIONS = ActivityConfig(
    start_to_close_timeout=timedelta(minutes=5),
    retry_policy=RetryPolicy(maximum_attempts=5, maximum_interval=timedelta(minutes=1)),
)
"""Options of every step's activity, on both sides."""


def step_name(position: int) -> str:
    """The executor id, and the hand-written activity type, of the step at a position, counted from 0."""
    return f"step-{position}"
