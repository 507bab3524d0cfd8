"""`python -m workers`: it serves what it is given, stops when asked to, and says in one line what is wrong."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from temporalio.client import Client

from temporal_adapter import DurableWorkflow
from tests.support import commands
from workers import cli
from workers.expense_approval import ExpenseReport

EXAMPLE = "workers.expense_approval:build_expense_approval"

# Nothing listens on the port that is meant for tests of it.
NO_SERVER = "127.0.0.1:1"

FLOWS = """
from agent_framework import Executor, WorkflowBuilder, WorkflowContext, handler
from typing_extensions import Never

class Greet(Executor):
    @handler
    async def greet(self, name: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(f"hello {name}")

def build_greeting():
    return WorkflowBuilder(name="greeting", start_executor=Greet("greet")).build()

def build_unnamed():
    return WorkflowBuilder(start_executor=Greet("greet")).build()

def build_nothing():
    return None

def build_with_an_error():
    raise LookupError("no such setting")

async def build_later():
    return build_greeting()

def build_twins():
    first, second = Greet("twin"), Greet("twin")
    builder = WorkflowBuilder(name="twins", start_executor=first)
    return builder.add_edge(first, second).build()  # LINE

number = 3
_secret = build_greeting
"""

# Makes click a package that is not installed.
WITHOUT_CLICK = """
import sys

class WithoutClick:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, WithoutClick())
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A directory of a user's own, with modules in it; this process forgets them after the test."""
    (tmp_path / "flows.py").write_text(FLOWS)
    (tmp_path / "broken.py").write_text("raise ValueError('not today')\n")
    (tmp_path / "needy.py").write_text("import package_that_nobody_has\n")
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def worker(*options: str, workflow: str = EXAMPLE, task_queue: str = "unused") -> list[str]:
    return ["-m", "workers", "--workflow", workflow, "--task-queue", task_queue, *options]


# --- it serves ------------------------------------------------------------------------------------------------


async def test_it_serves_the_working_directorys_workflows_until_it_is_stopped(
    client: Client, task_queue: str, project: Path
) -> None:
    address = client.service_client.config.target_host
    env = commands.environment(TEMPORAL_ADDRESS=address, TEMPORAL_NAMESPACE=client.namespace)
    arguments = worker("--workflow", EXAMPLE, "--max-concurrent-activities", "4", workflow="flows:build_greeting")
    arguments[arguments.index("unused")] = task_queue
    with commands.started(*arguments, cwd=project, env=env) as process:
        greeting = commands.line_with(process, "Serving")

        greeted = await (await DurableWorkflow(client, "greeting", task_queue=task_queue).start("you")).result()
        report = {
            "employee": "Ada",
            "purpose": "Conference",
            "items": [{"category": "travel", "amount": "12.50", "spent_on": "2025-09-01"}],
        }
        expenses = DurableWorkflow(client, "expense-approval", task_queue=task_queue)
        booked = await (await expenses.start(ExpenseReport.model_validate(report))).result()
        process.send_signal(signal.SIGTERM)
        stopped = commands.ended(process)

    assert greeting == (
        f"Serving greeting, expense-approval on task queue '{task_queue}' at {address} "
        f"(namespace '{client.namespace}'); checkpoints in .checkpoints."
    )
    assert greeted.get_outputs() == ["hello you"]
    assert [outcome.status for outcome in booked.get_outputs()] == ["approved"]
    assert stopped == commands.Ended(0, "", "")
    assert (project / ".checkpoints").is_dir()


async def test_it_connects_as_a_profile_of_temporals_configuration_file_says(client: Client, tmp_path: Path) -> None:
    config = tmp_path / "temporal.toml"
    address = client.service_client.config.target_host
    config.write_text(f"[profile.there]\naddress = {json.dumps(address)}\nnamespace = {json.dumps(client.namespace)}\n")
    env = commands.environment(TEMPORAL_CONFIG_FILE=str(config))
    with commands.started(*worker("--profile", "there"), cwd=tmp_path, env=env) as process:
        assert f"at {address}" in commands.line_with(process, "Serving")

        process.send_signal(signal.SIGINT)
        assert commands.ended(process).code == 0


# --- what is wrong with the command, exit code 2 ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        ("flows", "'flows' is not of the form package.module:factory"),
        ("nowhere.flows:build", "there is no module 'nowhere'"),
        ("flows.nowhere:build", "there is no module 'flows.nowhere'"),
        ("needy:build", "module 'needy' imports 'package_that_nobody_has', which is not installed"),
        ("broken:build", "module 'broken' cannot be imported: ValueError: not today"),
        ("flows:build_orders", "module 'flows' has no 'build_orders'; it has build_greeting, build_unnamed, "),
        ("flows.py:build_greeting", "'flows.py' is a file: name its module, without .py, as flows:build_greeting."),
        ("./shop/flows.py:build", "name its module, without .py, as shop.flows:build."),
        (
            "flows:build_later",
            "'flows:build_later' is an async function; a factory is a plain one, `def`, that returns",
        ),
        ("flows:number", "'flows:number' is of type int, and not a function that builds a workflow; it has "),
        ("flows:Greet", "'flows:Greet' is a class, and not a function that builds a workflow; it has "),
    ],
)
def test_a_name_that_is_no_factory_is_a_usage_error_that_says_what_there_is(
    project: Path, monkeypatch: pytest.MonkeyPatch, workflow: str, message: str
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(project)

    result = CliRunner().invoke(cli.main, worker(workflow=workflow)[2:])

    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task-queue", "q"], "Missing option '--workflow'"),
        (["--workflow", EXAMPLE], "Missing option '--task-queue'"),
        (
            ["--workflow", EXAMPLE, "--task-queue", "q", "--on-graph-change", "migrate"],
            "it is neither 'wait' nor 'fail', and as a migration: 'migrate' is not of the form package.module:",
        ),
        (
            ["--workflow", EXAMPLE, "--task-queue", "q", "--on-graph-change", "workers.cli:__name__"],
            "'workers.cli:__name__' is of type str, and no function.",
        ),
        (
            ["--workflow", EXAMPLE, "--task-queue", "q", "--max-concurrent-activities", "0"],
            "'--max-concurrent-activities'",
        ),
    ],
)
def test_a_missing_or_impossible_option_is_a_usage_error(options: list[str], message: str) -> None:
    result = CliRunner().invoke(cli.main, options)

    assert result.exit_code == 2
    assert message in result.stderr


# --- what is wrong with the world, exit code 1 and one line -----------------------------------------------------


@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        ("flows:build_unnamed", "has the auto-generated name"),
        ("flows:build_nothing", "The factory build_nothing returned NoneType, not a Workflow"),
        (
            "flows:build_with_an_error",
            "the factory build_with_an_error cannot build its workflow: LookupError: no such setting (",
        ),
        ("flows:build_twins", "the factory build_twins cannot build its workflow: ValueError: Duplicate executor"),
    ],
)
def test_a_workflow_that_cannot_be_used_is_an_error_in_one_line(
    project: Path, monkeypatch: pytest.MonkeyPatch, workflow: str, message: str
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(project)

    result = CliRunner().invoke(cli.main, worker(workflow=workflow)[2:])

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_error_that_a_factory_meets_in_a_package_points_to_the_factorys_own_line(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.syspath_prepend(project)

    result = CliRunner().invoke(cli.main, worker(workflow="flows:build_twins")[2:])

    [line] = [number for number, text in enumerate(FLOWS.splitlines(), 1) if text.endswith("# LINE")]
    assert result.stderr.rstrip().endswith(f"({project / 'flows.py'}:{line})")


def test_without_the_extra_it_is_an_error_that_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_CLICK)
    env = commands.environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env["PYTHONPATH"]])

    done = commands.run(*worker(), env=env)

    assert done == commands.Ended(
        1,
        "",
        "Error: the worker needs click, which is not installed: pip install 'agent-framework-temporal[workers]'\n",
    )


def test_an_unreachable_server_is_an_error_that_names_it_and_how_to_start_one() -> None:
    done = commands.run(*worker(), env=commands.environment(TEMPORAL_ADDRESS=NO_SERVER))

    assert done == commands.Ended(
        1,
        "",
        f"Error: no Temporal server answers at {NO_SERVER} (Connection refused). "
        "Start one with `temporal server start-dev`, or set TEMPORAL_ADDRESS to one that runs.\n",
    )


def test_a_namespace_that_the_server_does_not_have_is_an_error_that_names_it(server: str) -> None:
    done = commands.run(*worker(), env=commands.environment(TEMPORAL_ADDRESS=server, TEMPORAL_NAMESPACE="elsewhere"))

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: the Temporal server at {server} has no namespace 'elsewhere'.")
    assert done.err.count("\n") == 1


def test_a_profile_that_does_not_exist_is_an_error_that_names_it() -> None:
    done = commands.run(*worker("--profile", "elsewhere"), env=commands.environment())

    assert (done.code, done.out) == (1, "")
    assert "Profile 'elsewhere' not found" in done.err
    assert done.err.count("\n") == 1


def test_a_checkpoint_store_that_cannot_be_written_is_an_error_that_names_it(client: Client, tmp_path: Path) -> None:
    store = tmp_path / "file" / "checkpoints"
    store.parent.write_text("not a directory")
    env = commands.environment(
        TEMPORAL_ADDRESS=client.service_client.config.target_host, TEMPORAL_NAMESPACE=client.namespace
    )

    done = commands.run(*worker("--checkpoint-store", str(store)), env=env)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")
    assert str(store) in done.err
    assert done.err.count("\n") == 1


def test_a_checkpoint_store_of_an_unknown_kind_is_an_error_that_names_it() -> None:
    done = commands.run(*worker("--checkpoint-store", "carrier-pigeon://loft"), env=commands.environment())

    assert (done.code, done.out) == (1, "")
    assert "carrier-pigeon" in done.err
    assert done.err.count("\n") == 1
