"""Worker Versioning as it is configured: the plugin's arguments, the generic worker's options, and what is refused."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import Replayer, Worker, WorkerDeploymentConfig

from temporal_adapter import AgentFrameworkPlugin, BlobStore, ConfigurationError
from tests.support import commands
from tests.support.deployments import build, build_of, make_current
from tests.support.releases import first
from tests.support.running import pending, serving
from workers import cli

BOTH = {"deployment_name": "letters", "build_id": "2.4.0"}
WORKER = ["--workflow", "tests.support.releases:first", "--task-queue"]


def plugin(**options: Any) -> AgentFrameworkPlugin:
    return AgentFrameworkPlugin(first, checkpoint_store="memory://", **options)


@pytest.mark.parametrize(
    ("options", "behavior"),
    [
        ({}, VersioningBehavior.PINNED),
        ({"default_versioning_behavior": "pinned"}, VersioningBehavior.PINNED),
        ({"default_versioning_behavior": "auto_upgrade"}, VersioningBehavior.AUTO_UPGRADE),
    ],
)
async def test_workers_are_the_build_that_the_plugin_says(
    client: Client, options: dict[str, Any], behavior: VersioningBehavior
) -> None:
    given = plugin(**BOTH, **options).configure_worker({"client": client, "task_queue": "unused"})

    assert given["deployment_config"] == WorkerDeploymentConfig(  # type: ignore[typeddict-item]
        WorkerDeploymentVersion("letters", "2.4.0"), use_worker_versioning=True, default_versioning_behavior=behavior
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"build_id": "2"}, "build_id '2' needs a deployment_name"),
        ({"deployment_name": "letters"}, "deployment_name 'letters' needs a build_id"),
        ({"default_versioning_behavior": "pinned"}, "give deployment_name and build_id too"),
        ({**BOTH, "default_versioning_behavior": "sometimes"}, "must be one of ('pinned', 'auto_upgrade')"),
        ({**BOTH, "default_versioning_behavior": "auto_upgrade", "move_waiting_runs": True}, "Give one of the two"),
        ({**BOTH, "deployment_name": "a.b"}, "deployment_name 'a.b' is not usable: it must not have '.' in it"),
        ({**BOTH, "deployment_name": "a:b"}, "it must not have ':' in it"),
        ({**BOTH, "deployment_name": " "}, "it must be a text that is not empty"),
        ({**BOTH, "build_id": ""}, "build_id '' is not usable: it must be a text that is not empty"),
        ({**BOTH, "build_id": "__2"}, "names that begin with '__' are Temporal's own"),
        ({**BOTH, "build_id": "ü" * 128}, "it must not be longer than 255 bytes"),
        ({"continue_as_new_after": 9}, "from 10 to 40,000, not 9"),
        ({"continue_as_new_after": 40_001}, "from 10 to 40,000, not 40001"),
        ({"continue_as_new_after": True}, "must be a number of history events"),
    ],
)
def test_half_given_and_impossible_settings_are_refused_with_what_to_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        plugin(**options)

    assert message in str(refused.value)


@pytest.mark.parametrize(
    "own",
    [
        {"deployment_config": WorkerDeploymentConfig(WorkerDeploymentVersion("own", "1"), use_worker_versioning=False)},
        {"build_id": "1"},
    ],
)
async def test_a_worker_with_versioning_of_its_own_and_a_plugin_that_has_it_are_refused(
    client: Client, own: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match="which of the two says what build it is"):
        Worker(client, task_queue="unused", plugins=[plugin(**BOTH)], **own)


async def test_a_workers_own_versioning_holds_where_the_plugin_has_none(client: Client, task_queue: str) -> None:
    own = WorkerDeploymentConfig(WorkerDeploymentVersion(task_queue, "own"), use_worker_versioning=True)
    own.default_versioning_behavior = VersioningBehavior.PINNED
    moving = plugin(move_waiting_runs=True)
    async with Worker(client, task_queue=task_queue, plugins=[moving], deployment_config=own):
        await make_current(client, task_queue, "own")
        handle = await client.start_workflow("letter", "dear Ada", id=task_queue, task_queue=task_queue)
        assert await build_of(client, task_queue) == "own"
        await handle.terminate()


async def test_runs_cannot_be_set_to_move_on_workers_without_versioning(client: Client) -> None:
    with pytest.raises(ConfigurationError, match="move_waiting_runs needs Worker Versioning"):
        Worker(client, task_queue="unused", plugins=[plugin(move_waiting_runs=True)])


async def test_a_replayer_with_such_a_plugin_replays_runs_of_all_builds_and_of_none(
    client: Client, task_queue: str
) -> None:
    store = BlobStore("memory://")
    async with serving(client, f"{task_queue}-plain", first, store=store) as letter:
        plain = await letter.start("dear Ada")
        await pending(plain)
    async with build(client, task_queue, "1", first, store=store) as letter:
        pinned = await letter.start("dear Ada")
        await pending(pinned)
    replayer = Replayer(workflows=[], plugins=[plugin(**BOTH, move_waiting_runs=True)])
    for run in (plain, pinned):
        replayed = await replayer.replay_workflow(await run.handle.fetch_history())
        assert replayed.replay_failure is None
        await run.handle.terminate()


# --- the generic worker -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "options", "runs"),
    [
        ({"TEMPORAL_DEPLOYMENT_NAME": "of-env", "TEMPORAL_WORKER_BUILD_ID": "3"}, [], "are pinned to it"),
        (
            {},
            ["--deployment-name", "of-env", "--build-id", "3", "--versioning-behavior", "auto_upgrade"],
            "go over to newer builds",
        ),
        (
            {
                "TEMPORAL_DEPLOYMENT_NAME": "of-env",
                "TEMPORAL_WORKER_BUILD_ID": "3",
                "TEMPORAL_ADAPTER_MOVE_WAITING_RUNS": "true",
                "TEMPORAL_ADAPTER_CONTINUE_AS_NEW_AFTER": "500",
            },
            [],
            "move to newer builds at their checkpoints",
        ),
    ],
)
async def test_the_generic_worker_says_which_build_it_is(
    client: Client, task_queue: str, tmp_path: Path, env: dict[str, str], options: list[str], runs: str
) -> None:
    server = {
        "TEMPORAL_ADDRESS": client.service_client.config.target_host,
        "TEMPORAL_NAMESPACE": client.namespace,
    }
    program = ["-m", "workers", *WORKER, task_queue, "--checkpoint-store", str(tmp_path), *options]
    with commands.started(*program, env=commands.environment(**server, **env)) as process:
        greeting = commands.line_with(process, "Serving")
        process.send_signal(signal.SIGTERM)
        assert commands.ended(process).code == 0

    assert greeting.endswith(f"checkpoints in {tmp_path}. It is build '3' of deployment 'of-env': its runs {runs}.")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--build-id", "2"], 2, "--deployment-name and --build-id go together"),
        (["--move-waiting-runs"], 2, "give --deployment-name and --build-id too"),
        (["--versioning-behavior", "pinned"], 2, "give --deployment-name and --build-id too"),
        (["--versioning-behavior", "sometimes"], 2, "'--versioning-behavior'"),
        (["--continue-as-new-after", "3"], 2, "'--continue-as-new-after'"),
        (["--deployment-name", "a.b", "--build-id", "2"], 1, "must not have '.' in it"),
    ],
)
def test_its_half_given_options_are_refused(options: list[str], code: int, message: str) -> None:
    result = CliRunner().invoke(cli.main, [*WORKER, "unused", *options])

    assert result.exit_code == code
    assert message in result.stderr
