"""MAF's trace contexts on messages: they pass from one activity to the next, so that its spans link as in-process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from agent_framework import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from agent_framework.observability import OBSERVABILITY_SETTINGS
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.client import Client

from tests.support.running import serving


class Sender(Executor):
    @handler
    async def send(self, message: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(f"{message} by {self.id}")


class Joiner(Executor):
    @handler
    async def join(self, messages: list[str], ctx: WorkflowContext[None, str]) -> None:
        await ctx.yield_output(", ".join(messages))


def build() -> Workflow:
    start, left, right, join = Sender(id="start"), Sender(id="left"), Sender(id="right"), Joiner(id="join")
    builder = WorkflowBuilder(start_executor=start, name="traced")
    return builder.add_fan_out_edges(start, [left, right]).add_fan_in_edges([left, right], join).build()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)  # OpenTelemetry lets nobody replace it otherwise
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_instrumentation", True)
    yield exporter
    provider.shutdown()


def links(finished: list[ReadableSpan]) -> dict[str, list[str]]:
    """Return, for each executor, which executors sent what its processing span links to."""
    sent_by: dict[int, str] = {}
    processing = {span.context.span_id: span for span in finished if span.name.startswith("executor.process")}
    for span in finished:
        if span.name.startswith("message.send") and span.parent is not None:
            sent_by[span.context.span_id] = _executor(processing[span.parent.span_id])
    return {
        _executor(span): sorted(sent_by[link.context.span_id] for link in span.links) for span in processing.values()
    }


def _executor(span: ReadableSpan) -> str:
    assert span.attributes is not None
    return str(span.attributes["executor.id"])


async def test_spans_link_to_the_spans_that_sent_their_messages_as_in_process(
    client: Client, task_queue: str, spans: InMemorySpanExporter
) -> None:
    # Given what in-process shows
    await build().run("hello")
    in_process = links(list(spans.get_finished_spans()))
    assert in_process == {"start": [], "left": ["start"], "right": ["start"], "join": ["left", "right"]}
    spans.clear()
    # When the same graph runs on Temporal
    async with serving(client, task_queue, build) as workflow:
        result = await (await workflow.start("hello")).result()
    # Then its spans link alike
    assert result.get_outputs() == ["hello by start by left, hello by start by right"]
    assert links(list(spans.get_finished_spans())) == in_process
