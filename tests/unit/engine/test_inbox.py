"""Many responses at once: a workflow task has two seconds, and a signal that takes longer would stop a run for good."""

from __future__ import annotations

import time

from temporal_adapter import wire
from temporal_adapter.engine.inbox import Inbox


def request(request_id: str) -> wire.Request:
    data = wire.Value(inline="?", size=3)
    return wire.Request(
        request_id=request_id, source_executor_id="ask", data=data, request_type="str", response_type="bool"
    )


def responses(*request_ids: str) -> tuple[wire.Response, ...]:
    return tuple(wire.Response(request_id=one, response=True) for one in request_ids)


def test_a_thousand_responses_to_unknown_requests_are_refused_in_no_time() -> None:
    pending = {f"r{number}": request(f"r{number}") for number in range(1000)}
    inbox = Inbox()
    inbox.add(1, responses(*list(pending)[:900]))
    for queued in inbox.next_batch(pending):
        inbox.accept(queued, "checkpoint", "2026-11-30T00:00:00+00:00")
    inbox.judging = []
    inbox.withdraw(list(pending)[900:990], "it was cancelled.")

    began = time.process_time()
    inbox.add(2, responses(*(f"unknown {number}" for number in range(1000))))
    assert inbox.next_batch(pending) == []
    assert inbox.may_be_answered([f"unknown {number}" for number in range(1000)], before=None) is False
    assert time.process_time() - began < 1

    refused = [fate.refused or "" for _, fate in inbox.take_refusals()]
    assert len(refused) == 1000
    open_ones = ", ".join(repr(f"r{number}") for number in range(990, 1000))
    assert refused[0] == f"request 'unknown 0' is unknown to this run (pending: {open_ones})."


def test_a_response_that_comes_again_while_the_run_ends_is_told_what_it_was_told_before() -> None:
    pending, inbox = {"r": request("r"), "other": request("other")}, Inbox()
    inbox.add(1, responses("r"))
    [queued] = inbox.next_batch(pending)
    inbox.accept(queued, "checkpoint", "2026-11-30T00:00:00+00:00")
    inbox.judging = []
    inbox.withdraw(["expired"], "request 'expired' has expired.")
    inbox.take_answers()

    different = wire.Response(request_id="r", response=False)
    inbox.add(2, (*responses("r", "other", "expired"), different))
    inbox.refuse_all("the run has ended.")

    [answer] = inbox.take_answers()
    same, other, expired, refused = answer.fates
    assert (same.refused, same.checkpoint_id) == (None, "checkpoint")
    assert other.refused == "the run has ended."
    assert expired.refused == "request 'expired' has expired."
    assert "already answered, with a different response" in (refused.refused or "")
