"""What the plugin cannot work with is refused before anything runs, in words that say the fix."""

from __future__ import annotations

import asyncio
import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    Executor,
    FunctionInvocationLayer,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

from temporal_adapter import AgentFrameworkPlugin, ConfigurationError, StoreError
from tests.support.faulty import FaultyStore
from tests.support.graphs import Report, chain, loop
from tests.support.running import with_plugin


class ScriptedClient(FunctionInvocationLayer, BaseChatClient):
    """A chat client that is never asked."""

    def _inner_get_response(self, **_: Any) -> Any:
        raise AssertionError("nothing runs in these tests")


class Locked(Executor):
    """Holds what cannot be copied."""

    def __init__(self) -> None:
        super().__init__(id="locked")
        self.lock = threading.Lock()

    @handler
    async def handle(self, value: int, ctx: WorkflowContext) -> None:
        """Nothing."""


def refused(pattern: str, *sources: Any, **options: Any) -> None:
    """Assert that the plugin refuses, with a message that matches."""
    with pytest.raises(ConfigurationError, match=pattern):
        AgentFrameworkPlugin(list(sources), checkpoint_store="memory://", **options)


def test_an_auto_generated_name_is_refused() -> None:
    def unnamed() -> Workflow:
        return WorkflowBuilder(start_executor=Report("only")).build()

    refused(r"unnamed builds has the auto-generated name 'WorkflowBuilder-.*WorkflowBuilder\(name='\.\.\.'\)", unnamed)


def test_two_workflows_of_one_name_are_refused() -> None:
    refused(r"Two workflows are called 'chain'.*WorkflowBuilder\(name=\.\.\.\)", chain, loop, chain)


def test_a_factory_whose_builds_differ_is_refused() -> None:
    def with_unnamed_agent() -> Workflow:
        return WorkflowBuilder(name="unstable", start_executor=Agent(ScriptedClient(), "Answer.")).build()

    refused(
        r"Two builds of workflow 'unstable' differ in their graph: executor ids .*each agent a name", with_unnamed_agent
    )


def test_a_factory_that_returns_one_object_again_and_again_is_refused() -> None:
    built = chain()
    refused("returns the same Workflow object each time.*Build the workflow inside the factory", lambda: built)


def test_what_is_no_workflow_is_refused() -> None:
    refused("'chain' is neither a Workflow nor a factory", "chain")
    refused(r"returned WorkflowBuilder, not a Workflow; does it miss \.build\(\)\?", _builder)


def test_no_workflow_at_all_is_refused() -> None:
    refused("No workflow was given")


def test_a_built_workflow_is_accepted_when_it_can_be_copied() -> None:
    AgentFrameworkPlugin([chain()], checkpoint_store="memory://")


def test_a_built_workflow_that_cannot_be_copied_is_refused() -> None:
    built = WorkflowBuilder(name="locked", start_executor=Locked()).build()
    refused("'locked' was given built, and cannot be copied .*Pass the function that builds it instead", built)


def test_options_for_an_unknown_executor_are_refused() -> None:
    options = {"chain/thirst": ActivityConfig(start_to_close_timeout=timedelta(seconds=1))}
    refused("'chain/thirst', and no executor is called so. There are: chain/first", chain, activity_options=options)


@pytest.mark.parametrize("where", ["default_activity_options", "activity_options"])
def test_an_unknown_option_is_refused(where: str) -> None:
    config: Any = {"start_to_close": timedelta(seconds=1)}
    options = {where: config if where == "default_activity_options" else {"chain/first": config}}
    refused(
        "'start_to_close' is no option of temporalio.workflow.ActivityConfig; there are task_queue", chain, **options
    )


def test_an_unusable_store_url_is_refused() -> None:
    with pytest.raises(StoreError, match="carrier-pigeon://"):
        AgentFrameworkPlugin([chain], checkpoint_store="carrier-pigeon://coop")


async def test_a_worker_whose_store_cannot_be_written_does_not_start(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    folder = tmp_path / "store"
    plugin = AgentFrameworkPlugin([chain], checkpoint_store=str(folder))
    folder.rmdir()
    folder.write_text("a file is in the way")

    worker = Worker(with_plugin(client, plugin), task_queue=task_queue)
    with pytest.raises(StoreError, match=re.escape(str(folder)) + " cannot be used: .*Give a directory"):
        await asyncio.wait_for(worker.run(), 90)


async def test_a_block_of_a_worker_whose_store_cannot_be_written_ends(client: Client, task_queue: str) -> None:
    store = FaultyStore()
    store.away = True
    plugin = AgentFrameworkPlugin([chain], checkpoint_store=store)

    async def block() -> None:
        async with Worker(with_plugin(client, plugin), task_queue=task_queue):
            await asyncio.Event().wait()

    with pytest.raises(StoreError, match="cannot be used"):
        await asyncio.wait_for(asyncio.create_task(block()), 90)


def _builder() -> Any:
    return WorkflowBuilder(name="not built", start_executor=Report("only"))
