"""Checkpoints of real runs, in every storage: they come back as the run made them, and each resumes to the same end."""

from __future__ import annotations

import pytest
from agent_framework import CheckpointStorage, InMemoryCheckpointStorage, WorkflowCheckpoint

from temporal_adapter.testing.comparing import first_difference
from tests.conformance.conftest import Subject
from tests.support.agents import saying, two_agents
from tests.support.differential import resume_in_process, run_in_process
from tests.support.graphs import GRAPHS, Graph
from tests.support.nested import NESTED, yes

RUNS = {
    "fan-in": GRAPHS["fan-in that waits a superstep"],
    "typed message": GRAPHS["typed message"],
    "falsy messages": GRAPHS["falsy messages, after text"],
    "executor state": GRAPHS["executor state by hooks"],
    "shared state": GRAPHS["shared state with two writers"],
    "requests": GRAPHS["two requests, answered one by one"],
    "sub-workflow": NESTED["three levels"],
    "sub-workflow with fan-in": NESTED["fans in"],
    "sub-workflow whose request is intercepted": NESTED["intercepts"],
    "agents": Graph(two_agents(saying("left"), saying("right")), "Which?", yes),
}


class Both(InMemoryCheckpointStorage):
    """MAF's memory, which passes on to another storage what it is given."""

    def __init__(self, other: CheckpointStorage) -> None:
        super().__init__()
        self._other = other

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        assert await self._other.save(checkpoint) == checkpoint.checkpoint_id
        return await super().save(checkpoint)


@pytest.mark.parametrize("name", RUNS)
async def test_a_runs_checkpoints_come_back_and_each_resumes_to_the_same_end(subject: Subject, name: str) -> None:
    graph = RUNS[name]
    memory = Both(subject.open(graph.build))

    whole = await run_in_process(graph.build, graph.message, graph.answers, storage=memory)

    assert whole.error is None
    assert len(whole.checkpoints) > 2
    storage = subject.open(graph.build)
    [*ids] = await storage.list_checkpoint_ids(workflow_name=graph.build().name)
    assert sorted(ids) == sorted(one.checkpoint_id for one in whole.checkpoints)
    for saved in whole.checkpoints:
        loaded = await storage.load(saved.checkpoint_id)
        difference = first_difference(saved, loaded, f"checkpoint {saved.iteration_count}", sides=("saved", "loaded"))
        assert difference is None, difference

    for saved in whole.checkpoints:
        expected = await resume_in_process(graph.build, memory, saved.checkpoint_id, graph.answers)
        resumed = await resume_in_process(graph.build, storage, saved.checkpoint_id, graph.answers)
        assert resumed.error is None
        difference = first_difference(expected.outputs, resumed.outputs, f"from checkpoint {saved.iteration_count}")
        assert difference is None, difference
        assert resumed.outputs[-1:] == whole.outputs[-1:] or saved is whole.checkpoints[-1]
