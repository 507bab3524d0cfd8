"""Magentic: a manager that plans, keeps a ledger, and says who does what next."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Content, Message, Workflow, tool
from agent_framework_orchestrations import (
    MagenticBuilder,
    MagenticContext,
    MagenticManagerBase,
    MagenticPlanReviewRequest,
    MagenticProgressLedger,
)
from temporalio.client import Client
from typing_extensions import override

from temporal_adapter import DurableRun
from tests.support import chat
from tests.support.differential import Observed, assert_same
from tests.support.restarts import assert_survives_restarts
from tests.support.reviews import Requests
from tests.support.running import pending, serving

TASK = "Describe the hall."


@tool(approval_mode="always_require")
def measure(what: str) -> str:
    """Measure something."""
    return f"{what} is 12 metres"


def measures(messages: Sequence[Message]) -> chat.Answer:
    """Measure, then tell."""
    found = chat.results(messages)
    return f"measured {found}: {chat.digest(messages)}" if found else chat.call(messages, "measure", what="the hall")


def manages(messages: Sequence[Message]) -> str:
    """Answer each of the manager's prompts, by what was said before."""
    prompt, said = messages[-1].text, messages[:-1]
    if "pure JSON" in prompt:
        return json.dumps(_ledger(said))
    kinds = {
        "pre-survey": "Facts",
        "fact sheet": "New facts",
        "what went wrong": "New plan",
        "bullet-point plan": "Plan",
        "final answer": "Answer",
    }
    kind = next(kind for words, kind in kinds.items() if words in prompt)
    return f"{kind}: {chat.digest(said) if said else 'nothing was said'}"


def _ledger(said: Sequence[Message]) -> dict[str, Any]:
    """Return where the work stands: measured, written and then stuck; after the reset all over again, and done."""
    authors = [message.author_name for message in said]
    again = all(message.text != TASK for message in said)  # a reset clears the history of the task
    speaker = "measurer" if "measurer" not in authors else "writer"
    answers = {
        "is_request_satisfied": "writer" in authors and again,
        "is_in_loop": False,
        "is_progress_being_made": "writer" not in authors,
        "next_speaker": speaker,
        "instruction_or_question": f"Do your part{' again' if again else ''}, {speaker}.",
    }
    return {name: {"reason": chat.digest(said), "answer": answer} for name, answer in answers.items()}


def _builder(name: str, **options: Any) -> MagenticBuilder:
    agents = [
        chat.agent("measurer", measures, tools=[measure], description="Measures."),
        chat.agent("writer", description="Writes."),
    ]
    return MagenticBuilder(name=name, participants=agents, manager_agent=chat.agent("manager", manages), **options)


def team() -> Workflow:
    """The team gets stuck once, and makes a new plan."""
    return _builder("team", max_stall_count=0, intermediate_output_from="all_other", output_from=[]).build()


def reviewed() -> Workflow:
    """A person reviews each plan."""
    return _builder("reviewed", max_stall_count=0, enable_plan_review=True).build()


def limited() -> Workflow:
    """The team may not go on for as long as it would need."""
    return _builder("limited", max_stall_count=0, max_round_count=2).build()


class Counting(MagenticManagerBase):
    """A manager of one's own, which counts how often it was asked where the work stands; this is in no checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    @override
    async def plan(self, magentic_context: MagenticContext) -> Message:
        return Message("assistant", ["Plan"])

    @override
    async def replan(self, magentic_context: MagenticContext) -> Message:
        return Message("assistant", ["New plan"])

    @override
    async def create_progress_ledger(self, magentic_context: MagenticContext) -> MagenticProgressLedger:
        self.asked += 1
        answers = _ledger([message for message in magentic_context.chat_history if message.text != TASK])
        return MagenticProgressLedger.from_dict(answers)

    @override
    async def prepare_final_answer(self, magentic_context: MagenticContext) -> Message:
        return Message("assistant", [f"asked {self.asked} times"])


class Remembering(Counting):
    """The same, with its count in the checkpoint."""

    @override
    def on_checkpoint_save(self) -> dict[str, Any]:
        return {"asked": self.asked}

    @override
    def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.asked = state["asked"]


def counting() -> Workflow:
    """A team whose manager is not built to be restored."""
    return _managed("counting", Counting())


def remembering() -> Workflow:
    """A team whose manager keeps what it remembers in the checkpoint."""
    return _managed("remembering", Remembering())


def _managed(name: str, manager: MagenticManagerBase) -> Workflow:
    agents = [chat.agent("measurer", measures, tools=[measure]), chat.agent("writer")]
    return MagenticBuilder(name=name, participants=agents, manager=manager).build()


def supervise(requests: Requests) -> Mapping[str, Any]:
    """Approve measurements, and plans that were revised; have others revised."""
    return {one.request_id: _judgement(one.data) for one in requests}


def _judgement(asked: Content | MagenticPlanReviewRequest) -> Any:
    if isinstance(asked, Content):
        return asked.to_function_approval_response(approved=True)
    return asked.approve() if "New plan" in asked.plan.text else asked.revise("Measure before you write.")


def steps(run: Observed) -> list[str]:
    """Return what the manager did, in order."""
    return [event.data.event_type.value for event in run.events if event.type == "magentic_orchestrator"]


TEAMS = [team, reviewed, limited, remembering]


@pytest.mark.parametrize("build", TEAMS)
async def test_a_team_does_the_same_as_in_process(client: Client, build: Any) -> None:
    _, run = await assert_same(client, build, TASK, answers=supervise)

    assert steps(run)[0] == "plan_created"


@pytest.mark.parametrize("build", TEAMS)
async def test_a_team_that_waits_for_a_person_goes_on_with_new_workers(client: Client, build: Any) -> None:
    run = await assert_survives_restarts(client, build, TASK, answers=supervise)

    assert steps(run)[0] == "plan_created"


async def test_what_a_manager_keeps_outside_of_its_checkpoint_never_reaches_another_run(
    client: Client, task_queue: str
) -> None:
    async with serving(client, task_queue, counting) as durable:
        runs = [await durable.start(TASK, id=f"{task_queue}-{number}") for number in range(3)]
        answers = [await _approved(run) for run in runs]

    assert answers == ["asked 1 times"] * 3  # as if restored from a checkpoint before each activity


async def _approved(run: DurableRun) -> str:
    """Approve the one measurement; return the final answer."""
    for request_id, response in supervise(await pending(run)).items():
        await run.respond(request_id, response)
    return (await run.result()).get_outputs()[-1].text
