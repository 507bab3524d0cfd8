"""Links of one run (continue-as-new) are in one state, and what they hand on stays, by whatever of them is known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from temporal_adapter import BlobStore, wire
from temporal_adapter.retention.histories import Mentions, _Reading
from temporal_adapter.retention.needs import States
from temporal_adapter.retention.policy import RunState
from temporal_adapter.retention.runs import Known
from temporal_adapter.retention.survey import Survey
from temporal_adapter.retention.sweeping import referred_to
from temporal_adapter.store import ValueStore
from temporal_adapter.store.blobs import Entry
from temporal_adapter.store.names import value_object

from .conftest import Clock

EMPTY = Known({}, frozenset())


def entry(run_id: str, continued: str | None = None, ended: str | None = None, **fields: Any) -> wire.RunEntry:
    return wire.RunEntry(
        workflow_name="flow",
        workflow_id="w",
        run_id=run_id,
        task_queue="q",
        continued=None if continued is None else wire.Continued(run_id=continued),
        ended=None if ended is None else wire.Ended(state=ended, checkpoint_id=None, at=""),  # type: ignore[arg-type]
        **{"at": f"2026-01-0{run_id[-1]}T00:00:00+00:00", **fields},
    )


def states(entries: list[wire.RunEntry], known: Known = EMPTY) -> States:
    ordered = sorted(entries, key=lambda one: one.at)
    found = [(Entry(one.run_id, 1, Clock()()), one) for one in ordered]
    return States(Survey(checkpoints={}, runs=found, index=[], marks=[]), known)


def of_server(chains: dict[str, str], left: set[str], **of: RunState) -> Known:
    """What the server has: runs of `w` in their states, with the first link of each."""
    return Known(
        {("w", run_id): state for run_id, state in of.items()},
        frozenset(["w"]),
        {("w", run_id): first for run_id, first in chains.items()},
        frozenset(("w", run_id) for run_id in left),
    )


@pytest.mark.parametrize("state", ["open", "failed", "terminated"])
def test_links_are_in_the_state_of_the_last_one_whether_the_server_has_them_or_only_the_store(state: RunState) -> None:
    told = states(
        [entry("r1", ended="continued"), entry("r2", "r1", ended="continued"), entry("r3", "r2")],
        of_server({"r2": "r1", "r3": "r1"}, {"r2"}, r2="completed", r3=state),
    )

    assert [told.of_run("w", run_id) for run_id in ("r1", "r2", "r3")] == [state] * 3


def test_the_server_tells_of_a_link_that_the_store_does_not_know_of() -> None:
    told = states([entry("r1")], of_server({"r1": "r1", "r2": "r1"}, {"r1"}, r1="completed", r2="failed"))

    assert told.of_run("w", "r1") == "failed"
    assert told.last_link(("w", "r1")) == ("w", "r2")


def test_a_link_that_nothing_is_known_to_follow_is_open_while_a_run_of_its_id_is() -> None:
    told = states([entry("r1", ended="continued")], of_server({}, set(), r3="open"))

    assert told.of_run("w", "r1") == "open"


def test_a_link_that_went_on_nowhere_that_is_known_has_not_ended() -> None:
    assert states([entry("r1", ended="continued")]).of_run("w", "r1") == "gone"
    assert states([entry("r1", ended="continued", session=True)]).of_run("w", "r1") == "lost"


def test_clocks_that_differ_do_not_make_the_last_link_an_old_one() -> None:
    early = "1999-01-01T00:00:00+00:00"
    told = states([entry("r1", session=True), entry("r2", "r1", session=True, at=early)])

    assert [told.of_run("w", "r1"), told.of_run("w", "r2")] == ["lost", "lost"]


def test_links_round_in_a_circle_which_only_damage_can_cause_have_an_end() -> None:
    assert states([entry("r1", "r2"), entry("r2", "r1")]).of_run("w", "r1") == "gone"


# --- what links hand on -------------------------------------------------------------------------------------


def started(carried: wire.Carried) -> Mentions:
    """What the history of a link refers to that has only just begun."""
    arguments = [None, {}, wire.dump(carried)]
    texts = [json.dumps(one).encode() for one in arguments]
    event = HistoryEvent(event_id=1, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
    payloads = Payloads(payloads=[Payload(data=text) for text in texts])
    event.workflow_execution_started_event_attributes.input.CopyFrom(payloads)
    reading = _Reading()
    reading.take(event, texts)
    return reading.result()


async def test_what_pages_and_parts_refer_to_stays_even_where_a_part_ends_within_a_name() -> None:
    blobs = BlobStore("memory://")
    values = ValueStore(blobs, "default", cache_bytes=0)
    in_page, in_parts = await values.put("an output of long ago"), await values.put("a message in flight")
    page = await values.put([{"type": "output", "data": {"ref": in_page, "size": 23}}])
    text = json.dumps({"state": {"messages": [{"data": {"ref": in_parts, "size": 21}}]}})
    cut = text.index(in_parts) + 10
    parts = [await values.put(text[:cut]), await values.put(text[cut:])]
    carried = wire.Carried(
        clock="",
        archived=wire.Archived(
            events=[wire.ArchivedPage(first=0, next=1, page=wire.Value(ref=page, size=90))],
        ),
        parts=[wire.Value(ref=part, size=90) for part in parts],
    )

    referred = await referred_to(blobs, "default", [], [started(carried)])

    assert referred == {value_object("default", one) for one in (in_page, in_parts, page, *parts)}


def test_the_checkpoints_that_a_link_was_told_of_are_not_all_needed_by_it() -> None:
    headers = [
        wire.CheckpointHeader(
            checkpoint_id=f"c{number}", previous_checkpoint_id=None, iteration=0, timestamp="", kind="superstep"
        )
        for number in range(3)
    ]
    mentions = started(wire.Carried(clock="", tails=wire.Tails(checkpoints=headers)))

    assert mentions.pending == set()
