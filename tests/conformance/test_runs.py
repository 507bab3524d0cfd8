"""Checkpoints of real runs, in every storage: they come back as the run made them, and each resumes to the same end."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import product

import pytest
from agent_framework import WorkflowCheckpoint

from temporal_adapter.maf import EDGE_STATE_KEY, EXECUTOR_STATE_KEY, SUB_WORKFLOW_CHECKPOINT_KEY
from temporal_adapter.testing.comparing import first_difference
from tests.conformance.conftest import THEIRS, Subject
from tests.conformance.runs import RUNS, Both
from tests.support.differential import resume_in_process, run_in_process

# A request to a service takes longer than a file, and what a service does to bytes does not depend on the graph.
ON_SERVICES = ["fan-in", "requests", "sub-workflow", "agents"]

CASES = [
    *product([*THEIRS, "local", "memory"], RUNS),
    *product(["s3", "azure"], ON_SERVICES),
]


@pytest.mark.parametrize(("subject", "name"), CASES, indirect=["subject"])
async def test_a_runs_checkpoints_come_back_and_each_resumes_to_the_same_end(subject: Subject, name: str) -> None:
    graph = RUNS[name]
    memory = Both(subject.open(graph.build))

    whole = await run_in_process(graph.build, graph.message, graph.answers, storage=memory)

    assert whole.error is None
    assert len(whole.checkpoints) > 2
    storage = subject.open(graph.build)
    ids = await storage.list_checkpoint_ids(workflow_name=graph.build().name)
    assert sorted(ids) == sorted(one.checkpoint_id for one in whole.checkpoints)
    for saved in whole.checkpoints:
        loaded = await storage.load(saved.checkpoint_id)
        assert_none(first_difference(comparable(saved, subject), comparable(loaded, subject), "loaded"))

    for saved in whole.checkpoints:
        resumed = await resume_in_process(graph.build, storage, saved.checkpoint_id, graph.answers)
        assert resumed.error is None
        rest = whole.outputs_after(saved.iteration_count)
        assert_none(first_difference(sorted(rest, key=repr), sorted(resumed.outputs, key=repr), "resumed"))


def assert_none(difference: str | None) -> None:
    assert difference is None, difference


def comparable(checkpoint: WorkflowCheckpoint, subject: Subject, *, nested: bool = False) -> WorkflowCheckpoint:
    """Return a checkpoint less what a storage need not keep.

    That is the place of MAF's own keys among those of the state; id and time of a sub-workflow's checkpoint, which MAF
    makes anew whenever it saves one, and looks at nowhere; and what
    pickling loses: `raw_representation`.
    """
    own = {EXECUTOR_STATE_KEY, EDGE_STATE_KEY}
    state = {key: value for key, value in checkpoint.state.items() if key not in own}
    state[EXECUTOR_STATE_KEY] = {
        executor_id: {
            key: comparable(value, subject, nested=True) if key == SUB_WORKFLOW_CHECKPOINT_KEY else value
            for key, value in executor_state.items()
        }
        for executor_id, executor_state in checkpoint.state[EXECUTOR_STATE_KEY].items()
    }
    state[EDGE_STATE_KEY] = checkpoint.state.get(EDGE_STATE_KEY)
    same = replace(checkpoint, state=state, **({"checkpoint_id": "", "timestamp": ""} if nested else {}))
    return pickle.loads(pickle.dumps(same)) if subject.pickles else same
