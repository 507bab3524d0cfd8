"""Conformance kit: hold your own graph to MAF, in your own tests.

    await assert_same_as_in_process(build_expense_approval, Script(report, answers={"approval": Decision(True)}))

Runs the graph with MAF's own runner and on a real Temporal server, compares all that both show, and says in words
where they first differ. `pip install agent-framework-temporal[testing]` is all it needs.
"""

from .conformance import assert_same_as_in_process
from .observed import Observed
from .script import Answers, Script, UnfitForComparison
from .server import NoServer, local_server

__all__ = [
    "Answers",
    "NoServer",
    "Observed",
    "Script",
    "UnfitForComparison",
    "assert_same_as_in_process",
    "local_server",
]
