"""`temporal-adapter checkpoint fork`: a run from a checkpoint, but otherwise; and how forks and replays are drawn."""

from __future__ import annotations

import pytest
from temporalio.client import Client

from .conftest import Shell, Store

PAUSE = 6  # of `order-1`, before its last answer


async def test_other_responses_and_state_make_another_run_that_says_why(
    worked: Shell, store: Store, task_queue: str
) -> None:
    ended = await worked.serve(
        "checkpoint", "fork", worked.id_of("order-1", PAUSE), "--id", task_queue, "--wait",
        "--respond", f"{store.manager_request}=false", "--state", "total=7", "--state", "odd.key={\"$\": \"a=b\"}",
        "--delete-state", "opinions", "--reason", "what if not",
    )  # fmt: skip

    assert (ended.code, ended.err) == (0, "")
    assert f"fork: of checkpoint {worked.id_of('order-1', PAUSE)}" in ended.out
    assert 'output "kept"' in ended.out
    [fork, *_, last] = worked.checkpoints(task_queue)
    assert (fork["kind"], fork["previous_checkpoint_id"]) == ("fork", worked.id_of("order-1", PAUSE))
    state = worked.json("checkpoint", "show", last["checkpoint_id"])["state"]
    assert (state["total"], state["odd.key"], "opinions" in state) == (7, {"$": "a=b"}, False)
    assert "what if not" in worked.run("checkpoint", "show", fork["checkpoint_id"]).out


async def test_a_response_in_flight_can_be_given_otherwise(worked: Shell, store: Store) -> None:
    answered = worked.id_of("order-1", PAUSE + 1)

    ended = await worked.serve("checkpoint", "fork", answered, "--respond", f"{store.manager_request}=false", "--wait")

    assert ended.code == 0
    assert 'output "kept"' in ended.out


async def test_an_open_request_is_shown_with_how_to_answer_it(worked: Shell, store: Store, task_queue: str) -> None:
    ended = await worked.serve("checkpoint", "fork", worked.id_of("order-1", PAUSE), "--id", task_queue, "--wait")

    *_, asked, how, state = ended.out.splitlines()
    assert ended.code == 0
    assert asked == (
        f'Waits for a response to {store.manager_request} of manager, of type bool: {{"text": "Ship it?"}}'
    )
    assert how == (
        f"to answer it: temporal workflow update execute --workflow-id {task_queue} --name respond --input "
        f'\'{{"request_id": "{store.manager_request}", "response": "..."}}\''
    )
    assert state == "state: IDLE_WITH_PENDING_REQUESTS"


async def test_what_the_workers_refuse_is_one_line(worked: Shell, store: Store) -> None:
    ended = await worked.serve(
        "checkpoint", "fork", worked.id_of("order-1", PAUSE), "--respond", f'{store.manager_request}="soon"', "--wait"
    )

    assert ended.code == 1
    [line] = ended.err.splitlines()
    assert line.startswith("Error: the run 'order-fork-")
    assert f"The response to request '{store.manager_request}' is refused" in line


async def test_an_executor_that_fails_is_told(worked: Shell, store: Store) -> None:
    ended = await worked.serve(
        "checkpoint", "fork", worked.id_of("order-1", 5), "--state", 'total="three"', "--wait", "--json"
    )

    assert ended.code == 1
    assert '"type": "TypeError"' in ended.out
    assert "failed: TypeError: " in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--respond", "nobody=true"], "Pending: {request}."),
        (["--respond", "{request}=yes"], "A text wants quotes"),
        (["--state", "total"], "--state: 'total' is not KEY=JSON."),
        (["--state", "total=NaN"], "NaN is no JSON"),
        (["--delete-state", "missing"], "There is: 'total', 'odd.key'"),
        (["--delete-state", "total", "--state", "total=1"], "'total' is to be set too"),
    ],
)
def test_what_does_not_fit_the_checkpoint_is_a_wrong_command(
    online: Shell, store: Store, arguments: list[str], message: str
) -> None:
    given = [one.format(request=store.manager_request) for one in arguments]

    ended = online.run("checkpoint", "fork", online.id_of("order-1", PAUSE), *given)

    assert (ended.code, ended.out) == (2, "")
    assert message.format(request=store.manager_request) in ended.err


async def test_forks_and_replays_hang_below_the_checkpoints_they_came_from(
    worked: Shell, store: Store, task_queue: str, client: Client
) -> None:
    pause, response = worked.id_of("order-1", PAUSE), f"{store.manager_request}=false"
    await worked.serve("checkpoint", "fork", pause, "--id", f"{task_queue}-fork", "--respond", response, "--wait")
    await worked.serve("checkpoint", "replay", pause, "--id", f"{task_queue}-replay", "--wait")

    drawn = worked.run("checkpoint", "graph", f"{task_queue}-fork").out.splitlines()
    entries = worked.json("checkpoint", "graph", "order-1")["checkpoints"]

    assert drawn[0] == "order-1 (order)"
    place = next(place for place, line in enumerate(drawn) if pause in line)
    below = [line for line in drawn[place:] if "goes on as" in line]
    assert sorted(line.split("goes on as ")[1] for line in below) == sorted(
        ["what-if (order)", f"{task_queue}-fork (order)", f"{task_queue}-replay (order)"]
    )
    fork = drawn.index(next(line for line in drawn if line.endswith(f"{task_queue}-fork (order)")))
    assert "  fork  " in drawn[fork + 1]
    assert drawn[fork + 3].endswith("head")
    first = {one["workflow_id"]: one for one in reversed(entries)}
    kinds = {id_: (one["kind"], one["previous_checkpoint_id"]) for id_, one in first.items()}
    assert kinds[f"{task_queue}-fork"] == ("fork", pause)
    assert kinds[f"{task_queue}-replay"] == ("response", pause)
    assert {one["workflow_id"] for one in entries if one["head"]} == kinds.keys()
