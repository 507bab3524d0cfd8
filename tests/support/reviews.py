"""Answers of people to what orchestrations ask: approvals of function calls, and reviews of what agents say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import AgentExecutorResponse, Content, WorkflowEvent
from agent_framework_orchestrations import AgentRequestInfoResponse

Requests = Sequence[WorkflowEvent[Any]]


def approve(requests: Requests) -> Mapping[str, Content]:
    """Let all functions be called."""
    return {one.request_id: one.data.to_function_approval_response(approved=True) for one in requests}


def reject(requests: Requests) -> Mapping[str, Content]:
    """Let no function be called."""
    return {one.request_id: one.data.to_function_approval_response(approved=False) for one in requests}


def approve_last(requests: Requests) -> Mapping[str, Content]:
    """Let one function be called at a time, the last agent's first."""
    return approve([max(requests, key=_asked_by)])


def ask_for_more(requests: Requests) -> Mapping[str, AgentRequestInfoResponse]:
    """Have each agent say more once, then agree."""
    return {one.request_id: _opinion(one.data) for one in requests}


def _opinion(said: AgentExecutorResponse) -> AgentRequestInfoResponse:
    if "more" in said.agent_response.text:
        return AgentRequestInfoResponse.approve()
    return AgentRequestInfoResponse.from_strings([f"Say more, {said.executor_id}."])


def _asked_by(request: WorkflowEvent[Any]) -> str:
    return request.source_executor_id
