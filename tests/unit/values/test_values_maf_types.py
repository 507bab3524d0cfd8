"""MAF's own types survive with every attribute."""

from __future__ import annotations

import threading
from typing import Any

import agent_framework_orchestrations as orchestrations
import pydantic
import pytest
from agent_framework import (
    AgentExecutorRequest,
    AgentExecutorResponse,
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    Annotation,
    ChatResponse,
    Content,
    Message,
    UsageDetails,
    WorkflowCheckpoint,
    WorkflowErrorDetails,
    WorkflowEvent,
    WorkflowMessage,
    WorkflowRunState,
)
from openai.types.chat import ChatCompletion

from temporal_adapter.maf import MessageType
from temporal_adapter.values import Codec
from tests.unit.values.samples import Line, through_json


class Verdict(pydantic.BaseModel):
    ok: bool


CODEC = Codec({"verdict": Verdict, "line": Line})


def call(name: str = "refund") -> Content:
    return Content.from_function_call(call_id="c1", name=name, arguments={"amount": 12.5, "to": "Zoë"})


CONTENTS = [
    Content.from_text("hello", annotations=[Annotation(type="citation", title="t", url="https://example.org")]),
    Content.from_text_reasoning(text="because", protected_data="opaque"),
    call(),
    Content.from_function_call(call_id="c2", name="f", arguments='{"a": 1}'),
    Content.from_function_result(call_id="c1", result=[Content.from_text("done")]),
    Content.from_function_result(call_id="c3", result="failed", exception="ValueError: no"),
    Content.from_function_approval_request(id="a1", function_call=call()),
    Content.from_function_approval_request(id="a1", function_call=call()).to_function_approval_response(approved=True),
    Content.from_usage(UsageDetails(input_token_count=5, output_token_count=7, total_token_count=12)),
    Content.from_data(b"\x00\xff", media_type="image/png"),
    Content.from_uri("https://example.org/a.pdf", media_type="application/pdf"),
    Content.from_error(message="no", error_code="500"),
    Content.from_hosted_file(file_id="f1"),
]


def conversation() -> list[Message]:
    return [
        Message("user", ["refund please"], message_id="m1", additional_properties={"k": (1, 2)}),
        Message("assistant", CONTENTS, author_name="agent"),
    ]


def response() -> AgentResponse[Any]:
    return AgentResponse(
        messages=conversation(),
        response_id="r1",
        agent_id="a1",
        created_at="2024-01-01T00:00:00Z",
        finish_reason="stop",
        usage_details=UsageDetails(input_token_count=5),
        value=Verdict(ok=True),
        response_format=Verdict,
    )


def state(obj: Any) -> Any:
    """All attributes, all the way down: MAF's `__eq__` looks at some, or at none."""
    if isinstance(obj, list):
        return [state(item) for item in obj]
    if isinstance(obj, tuple):
        return tuple(state(item) for item in obj)
    if isinstance(obj, dict):
        return {key: state(value) for key, value in obj.items()}
    if type(obj).__module__.startswith("agent_framework") and not hasattr(obj, "__members__"):
        attributes = vars(obj) if hasattr(obj, "__dict__") else {n: getattr(obj, n) for n in obj.__slots__}
        return type(obj), {key: state(value) for key, value in attributes.items()}
    return obj


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: content.type)
def test_a_content_survives(content: Content) -> None:
    restored = through_json(CODEC, content)

    assert restored == content
    assert state(restored) == state(content)


def request_event(data: Any, response_type: Any) -> WorkflowEvent[Any]:
    return WorkflowEvent.request_info("q1", "review", data, response_type)


@pytest.mark.parametrize(
    "value",
    [
        conversation(),
        response(),
        AgentResponseUpdate(contents=[call()], role="assistant", author_name="a", agent_id="a1", message_id="m"),
        AgentExecutorRequest(messages=conversation(), should_respond=False),
        AgentExecutorResponse("writer", response(), full_conversation=conversation()),
        WorkflowErrorDetails("ValueError", "no", traceback="...", executor_id="e", extra={"k": {1}}),
        request_event(Line(name="a"), bool),
        request_event({"q": 1}, list[Line] | None),
        WorkflowEvent.status(WorkflowRunState.IDLE),
        WorkflowEvent.executor_failed("e", WorkflowErrorDetails("E", "m")),
        WorkflowMessage(data=Line(name="a"), source_id="s", trace_contexts=[{"traceparent": "00"}]),
        WorkflowMessage(
            data=True,
            source_id="s",
            type=MessageType.RESPONSE,
            original_request_info_event=request_event(Line(name="a"), bool),
        ),
        WorkflowCheckpoint(
            "wf",
            "hash",
            messages={"s": [WorkflowMessage(data=call(), source_id="s")]},
            state={"k": Line(name="a"), "_executor_state": {"e": {"cache": conversation()}}},
            pending_request_info_events={"q1": request_event("?", str)},
        ),
        orchestrations.HandoffAgentUserRequest(agent_response=response()),
        orchestrations.AgentRequestInfoResponse(messages=conversation()),
        orchestrations.HandoffSentEvent(source="a", target="b"),
        orchestrations.MagenticPlanReviewResponse(review=conversation()),
        orchestrations.MagenticContext(task="t", chat_history=conversation(), participant_descriptions={"a": "b"}),
        orchestrations.OrchestrationState(conversation=conversation(), round_index=1, orchestrator_name="o"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_type_of_maf_survives_with_every_attribute(value: Any) -> None:
    assert state(through_json(CODEC, value)) == state(value)


def test_a_session_survives_with_what_its_providers_keep() -> None:
    session = AgentSession(session_id="s1", service_session_id="srv")
    session.state["in_memory"] = {"messages": conversation()}

    assert state(through_json(CODEC, session)) == state(session)


def test_public_names_stand_for_private_modules() -> None:
    assert CODEC.encode(Message("user", []))["type"] == "agent_framework:Message"
    assert (
        CODEC.encode(orchestrations.HandoffSentEvent("a", "b"))["type"]
        == "agent_framework_orchestrations:HandoffSentEvent"
    )


def test_names_in_private_modules_are_read_as_well() -> None:
    encoded = {**CODEC.encode(Message("user", ["a"])), "type": "agent_framework._types:Message"}

    assert CODEC.decode(encoded).text == "a"


def test_a_content_leaves_out_what_is_none() -> None:
    assert CODEC.encode(Content.from_text("hi")) == {
        "$": "object",
        "type": "agent_framework:Content",
        "fields": {"type": "text", "additional_properties": {}, "text": "hi", "informational_only": False},
    }


def test_an_attribute_that_a_later_maf_added_to_content_is_none() -> None:
    encoded = CODEC.encode(Content.from_text("hi"))
    del encoded["fields"]["additional_properties"]

    restored = CODEC.decode(encoded)

    assert restored.annotations is None


def completion() -> ChatCompletion:
    return ChatCompletion.model_validate(
        {
            "id": "x",
            "created": 1,
            "model": "m",
            "object": "chat.completion",
            "choices": [
                {
                    "finish_reason": "stop",
                    "index": 0,
                    "message": {"role": "assistant", "content": "hi"},
                    "logprobs": None,
                }
            ],
            "provider": "extra",
        }
    )


def test_a_raw_representation_of_the_openai_sdk_survives() -> None:
    value = AgentResponse(
        messages=[Message("assistant", ["hi"], raw_representation=completion().choices[0])],
        raw_representation=ChatResponse(messages=[], raw_representation=completion()),
    )

    restored = through_json(CODEC, value)

    assert restored.raw_representation.raw_representation == completion()
    assert restored.messages[0].raw_representation == completion().choices[0]


def test_a_raw_representation_that_cannot_be_stored_becomes_none_and_nothing_else_does() -> None:
    raw = threading.Lock()
    message = Message(
        "assistant",
        [
            Content.from_text(
                "hi", raw_representation={"k": raw}, annotations=[Annotation(title="t", raw_representation=raw)]
            )
        ],
        raw_representation=[raw],
    )

    restored = through_json(CODEC, message)

    assert (restored.text, restored.raw_representation) == ("hi", None)
    assert restored.contents[0].raw_representation is None
    assert restored.contents[0].annotations == [{"title": "t", "raw_representation": None}]


def test_raw_representations_can_be_left_out() -> None:
    lean = Codec(raw_representations="omit")
    message = Message("assistant", [Content.from_text("hi", raw_representation=[1])], raw_representation=completion())

    restored = through_json(lean, message)

    assert (restored.text, restored.raw_representation, restored.contents[0].raw_representation) == ("hi", None, None)


def test_usage_details_are_a_plain_dict() -> None:
    assert CODEC.encode(UsageDetails(input_token_count=1)) == {"input_token_count": 1}


def test_an_event_made_through_its_generic_alias_survives() -> None:
    event = WorkflowEvent[str]("output", data="x", executor_id="e")

    assert through_json(CODEC, event).data == "x"
