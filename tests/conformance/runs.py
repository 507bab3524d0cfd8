"""Real runs that make rich checkpoints, and a storage that passes these on. What to expect is the tests' to say."""

from __future__ import annotations

from agent_framework import CheckpointStorage, InMemoryCheckpointStorage, WorkflowCheckpoint

from tests.support.agents import saying, two_agents
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
