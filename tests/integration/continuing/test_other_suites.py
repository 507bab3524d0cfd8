"""What holds of runs holds of those that go on as new Temporal runs at every chance: other suites, run so.

Left out are tests that read the whole of a run's history, which is of several Temporal runs then.
"""

from __future__ import annotations

import asyncio
import sys

import pytest

from tests.support import commands
from tests.support.scripts import REPOSITORY

SUITES = {
    "some of each": (
        "tests/integration/test_streaming.py::test_who_follows_a_streaming_run_sees_what_its_events_say",
        "tests/integration/deadlines/test_deadlines.py::"
        "test_people_are_reminded_every_so_often_until_the_request_expires",
        "tests/integration/deadlines/test_deadlines.py::test_an_answer_in_time_ends_reminders_and_expiry",
        "tests/integration/test_search_attribute.py::test_runs_that_wait_are_found_by_how_many_requests_wait",
        "tests/integration/test_sub_workflows.py::"
        "test_a_response_to_a_request_of_a_sub_workflow_is_refused_when_ill_typed",
    ),
    "streaming": ("tests/integration/test_streaming.py",),
    "deadlines": ("tests/integration/deadlines",),
    "cancelled requests": ("tests/integration/cancelling",),
    "people": ("tests/integration/test_hil.py",),
    "sub-workflows": (
        "tests/integration/test_sub_workflows.py",
        "--deselect=tests/integration/test_sub_workflows.py::"
        "test_each_inner_executor_is_an_activity_of_its_own_named_by_its_path",
    ),
}


@pytest.mark.parametrize("suite", SUITES)
async def test_a_suite_holds_of_runs_that_go_on_at_every_chance(suite: str, server: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.support.each_chance"),
        *SUITES[suite],
        cwd=REPOSITORY,
        env=commands.environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()

    assert process.returncode == 0, out.decode()[-4000:]
