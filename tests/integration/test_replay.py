"""Recorded histories replay: with the plugin, without a cache, and where neither MAF nor the graph can be imported."""

from __future__ import annotations

import asyncio
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer

from temporal_adapter import AgentFrameworkPlugin, workflow_type
from tests.support import scripts
from tests.support.differential import difference_of, run_in_process, run_on_temporal
from tests.support.graphs import GRAPHS
from tests.support.running import pending, serving
from workers.expense_approval import Decision, ExpenseItem, ExpenseReport, build_expense_approval

_WITHOUT_MAF = """
    import asyncio, os, sys
    from pathlib import Path

    class Forbidden:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("agent_framework", "workers"):
                raise ImportError(f"{name} must not be imported here")

    sys.meta_path.insert(0, Forbidden())

    from temporalio.client import WorkflowHistory
    from temporalio.worker import Replayer
    from temporal_adapter import workflow_type

    async def main():
        history = WorkflowHistory.from_json("recorded", Path(os.environ["HISTORY"]).read_text())
        replayer = Replayer(workflows=[workflow_type("expense-approval")])
        result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
        print("failure:", result.replay_failure)

    asyncio.run(main())
    print("loaded:", [name for name in sys.modules if name.startswith("agent_framework")], flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
async def recorded(client: Client) -> WorkflowHistory:
    """The history of the example, on a report that needs approval."""
    item = ExpenseItem(category="lodging", amount=Decimal("2400.00"), spent_on=date(2026, 3, 4))
    async with serving(client, "recorded", build_expense_approval, max_cached_workflows=0) as durable:
        run = await durable.start(ExpenseReport(employee="Ada", purpose="Conference", items=[item]))
        [request] = await pending(run)
        await run.respond(request.request_id, Decision(approved=True, comment="fine"))
        await run.result()
    return await run.handle.fetch_history()


async def test_the_examples_history_replays_with_the_plugin(recorded: WorkflowHistory) -> None:
    plugin = AgentFrameworkPlugin([build_expense_approval], checkpoint_store="memory://")

    result = await Replayer(workflows=[], plugins=[plugin]).replay_workflow(recorded)

    assert result.replay_failure is None


async def test_the_examples_history_replays_from_its_json(recorded: WorkflowHistory) -> None:
    from_json = WorkflowHistory.from_json("recorded", recorded.to_json())

    result = await Replayer(workflows=[workflow_type("expense-approval")]).replay_workflow(from_json)

    assert result.replay_failure is None


async def test_the_examples_history_replays_where_maf_cannot_be_imported(
    recorded: WorkflowHistory, tmp_path: Path
) -> None:
    path = tmp_path / "history.json"
    path.write_text(recorded.to_json())

    replayed = await asyncio.to_thread(scripts.run, _WITHOUT_MAF, HISTORY=str(path))

    assert replayed.stdout.splitlines() == ["failure: None", "loaded: []"], replayed.stderr


async def test_a_history_of_another_order_is_told_apart(recorded: WorkflowHistory) -> None:
    class_of_other = workflow_type("chain")
    other = WorkflowHistory.from_json("other", recorded.to_json().replace('"expense-approval"', '"chain"', 1))

    result = await Replayer(workflows=[class_of_other]).replay_workflow(other, raise_on_replay_failure=False)

    assert result.replay_failure is not None


@pytest.mark.parametrize("name", GRAPHS)
async def test_a_run_without_a_cache_does_the_same_and_its_history_replays(
    client: Client, task_queue: str, name: str
) -> None:
    graph = GRAPHS[name]

    uncached = await run_on_temporal(
        client, graph.build, graph.message, graph.answers, id=task_queue, max_cached_workflows=0
    )

    in_process = await run_in_process(graph.build, graph.message, graph.answers)
    assert difference_of(in_process, uncached) is None
    history = await client.get_workflow_handle(task_queue).fetch_history()
    replayed = await Replayer(workflows=[workflow_type(graph.build().name)]).replay_workflow(history)
    assert replayed.replay_failure is None
