"""A workflow whose values are too large for history, with a person in its middle. Workers import it by its name."""

from __future__ import annotations

from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler, response_handler

LENGTH = 300_000


class Write(Executor):
    """Writes a long text, keeps a copy of it in shared state, and asks whether it will do."""

    @handler
    async def write(self, letter: str, ctx: WorkflowContext[str]) -> None:
        ctx.set_state("draft", letter * LENGTH)
        await ctx.request_info(f"Is {letter} right?", bool)

    @response_handler
    async def answered(self, question: str, good: bool, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(ctx.get_state("draft") if good else "rejected")


class Publish(Executor):
    """Yields the text."""

    @handler
    async def publish(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.yield_output(text)


def build() -> Workflow:
    """Build the workflow `long-report`."""
    write, publish = Write(id="write"), Publish(id="publish")
    return WorkflowBuilder(name="long-report", start_executor=write).add_edge(write, publish).build()
