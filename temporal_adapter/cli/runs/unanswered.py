"""Saying which runs could not be asked, so that a list which is not whole does not look whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from temporal_adapter.cli.running import ExitCode, tell

if TYPE_CHECKING:
    from temporal_adapter.client.listing import Unanswered

_SHOWN = 3  # workflow ids of one reason


def tell_unanswered(unanswered: Sequence[Unanswered]) -> ExitCode:
    """Warn of runs that did not answer, a line for each reason; return the exit code of a command that lists runs."""
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for one in unanswered:
        by_reason[one.reason].append(one.workflow_id)
    for reason, ids in by_reason.items():
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        named = ", ".join(map(repr, ids[:_SHOWN]))
        tell(f"Warning: {named}{more} could not be asked: {reason}.")
    return ExitCode.FINDING if unanswered else ExitCode.OK
