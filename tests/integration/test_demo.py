"""The demo as a person runs it: what it prints, how it ends, and that nothing of it stays behind."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from tests.support import commands
from tests.support.scripts import REPOSITORY
from workers.demo.worker_process import WorkerFailed, worker_process

DEMO = ("-m", "workers.demo")
EXAMPLE = "workers.expense_approval:build_expense_approval"
UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def traces(output: str) -> list[str]:
    """What the command lines of the demo's server and worker have in them, and no other process's."""
    port = re.search(r"start-dev` at 127\.0\.0\.1:(\d+)", output)
    queue = re.search(r"on task queue '(.+?)'", output)
    assert port is not None
    assert queue is not None
    return [f"--port {port[1]} ", f"--task-queue {queue[1]} "]


def left_behind(output: str) -> list[int]:
    return [pid for trace in traces(output) for pid in commands.processes_with(trace)]


# --- piped ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def done() -> commands.Ended:
    """A demo that ran to its end."""
    return commands.run(*DEMO, env=commands.environment())


def test_piped_it_tells_the_whole_story_in_plain_lines_and_leaves_no_process_behind(done: commands.Ended) -> None:
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    story = [
        "Started `temporal server start-dev` at ",
        "Serving expense-approval on task queue ",
        "Started run expense-approval-demo-",
        "Look at it in the Temporal UI: http://127.0.0.1:",
        "superstep 1: receive done",
        "superstep 2: policy-check done, fraud-score done",
        "superstep 3: assess done",
        "superstep 4: manager-approval asks",
        "of executor manager-approval waits for a response",
        "The total of 1096.80 euros is over 500.00 euros.",
        'Answered by the signal `respond`: {"approved": true, ',
        "superstep 5: manager-approval done",
        "superstep 6: book done",
        "Outcome: approved by the manager, booked as EXP-",
        "Checkpoint lineage",
        "To read here, not to run: the server at 127.0.0.1:",
        "temporal workflow signal --workflow-id expense-approval-demo-",
        "temporal workflow update execute --workflow-id expense-approval-demo-",
        "DEMO_INTERACTIVE=1 make demo",
    ]
    assert [line for line in story if line not in done.out] == []
    assert sorted(story, key=done.out.index) == story
    assert [line for line in done.out.splitlines() if line != line.rstrip()] == []
    assert left_behind(done.out) == []


def test_the_lineage_it_shows_is_one_chain_from_the_entry_checkpoint_on(done: commands.Ended) -> None:
    rows = re.findall(rf"^(entry|superstep|response) +(\d+) +({UUID}) +({UUID}|-) *$", done.out, re.MULTILINE)
    assert [(kind, int(iteration)) for kind, iteration, _, _ in rows] == [
        ("entry", 0),
        *(("superstep", iteration) for iteration in (1, 2, 3, 4)),
        ("response", 4),
        *(("superstep", iteration) for iteration in (5, 6)),
    ]
    ids = [row[2] for row in rows]
    assert [row[3] for row in rows] == ["-", *ids[:-1]]


def test_with_temporal_address_it_uses_that_server(client: Client) -> None:
    address = client.service_client.config.target_host
    env = commands.environment(TEMPORAL_ADDRESS=address, TEMPORAL_NAMESPACE=client.namespace)

    done = commands.run(*DEMO, env=env)

    assert (done.code, done.err) == (0, "")
    assert "Started `temporal server" not in done.out
    assert f"at {address}" in done.out
    assert "Outcome: approved" in done.out


def test_with_a_server_that_stays_a_person_can_type_what_the_demo_shows(client: Client) -> None:
    address = client.service_client.config.target_host
    env = commands.environment(TEMPORAL_ADDRESS=address, TEMPORAL_NAMESPACE=client.namespace)
    shown = commands.run(*DEMO, env=env).out
    [setting, python, *arguments] = typed(shown, "-m workers")
    assert (setting, REPOSITORY / python) == (f"TEMPORAL_ADDRESS={address}", Path(sys.executable))

    with commands.started(*arguments, env=env) as worker:
        commands.line_with(worker, "Serving")
        shell(typed(shown, "workflow start"))
        request_id = asked(typed(shown, "workflow query"))
        update = [part.replace("REQUEST_ID", request_id) for part in typed(shown, "workflow update execute")]
        accepted = shell(update)
        result = shell([*typed(shown, "workflow result"), "--output", "json"])

    assert accepted.returncode == 0
    assert '"status":"approved"' in re.sub(r"\s", "", result.stdout)


def typed(shown: str, text: str) -> list[str]:
    """The command that the demo shows with the text in it."""
    [line] = [line for line in shown.splitlines() if line.startswith("  ") and text in line]
    return shlex.split(line)


def shell(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs a command of the demo where a person would, in the repository."""
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60)


def asked(query: Sequence[str]) -> str:
    """The id of the run's request, once it is there."""
    while True:
        request_ids = re.findall(rf"request_id\W+({UUID})", shell([*query, "--output", "json"]).stdout)
        if request_ids:
            return request_ids[0]


def test_an_unreachable_server_is_an_error_that_names_it() -> None:
    done = commands.run(*DEMO, env=commands.environment(TEMPORAL_ADDRESS="127.0.0.1:1"))

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: no Temporal server answers at 127.0.0.1:1 ")


def test_a_decision_by_a_person_needs_a_terminal() -> None:
    done = commands.run(*DEMO, env=commands.environment(DEMO_INTERACTIVE="1"))

    assert done == commands.Ended(
        2, "", "Error: DEMO_INTERACTIVE is set, and there is no terminal to ask at: use one, or unset it.\n"
    )


# --- when something goes wrong ------------------------------------------------------------------------------------


def test_a_worker_that_cannot_start_is_an_error_with_what_it_printed(tmp_path: Path) -> None:
    (tmp_path / ".run").write_text("where the checkpoint store would be")

    done = commands.run(*DEMO, cwd=tmp_path, env=commands.environment())

    assert done.code == 1
    assert done.err.startswith("Error: the worker ended with exit code 1. It printed:\nError: ")
    assert ".run" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_in_the_middle_it_takes_its_processes_with_it(stop: signal.Signals, code: int) -> None:
    with commands.started(*DEMO, env=commands.environment()) as process:
        seen = commands.line_with(process, "start-dev`") + commands.line_with(process, "Serving")
        assert left_behind(seen) != []

        process.send_signal(stop)
        done = commands.ended(process)

    assert (done.code, done.err) == (code, "")
    assert left_behind(seen) == []


async def test_killed_it_takes_its_processes_with_it() -> None:
    with commands.started(*DEMO, env=commands.environment()) as process:
        seen = commands.line_with(process, "start-dev`") + commands.line_with(process, "Serving")
        process.kill()
        process.wait()

    for trace in traces(seen):
        await asyncio.wait_for(commands.until_none_with(trace), timeout=90)


async def test_a_worker_that_ends_while_it_is_needed_is_an_error(
    client: Client, task_queue: str, tmp_path: Path
) -> None:
    env = commands.environment(
        TEMPORAL_ADDRESS=client.service_client.config.target_host, TEMPORAL_NAMESPACE=client.namespace
    )
    async with worker_process([EXAMPLE], task_queue, tmp_path, env) as worker:
        os.kill(worker.pid, signal.SIGKILL)

        with pytest.raises(WorkerFailed, match="the worker ended with exit code -9"):
            await worker.guard(asyncio.Event().wait())


# --- at a terminal ------------------------------------------------------------------------------------------------


def at_a_terminal(answers: Sequence[tuple[str, str]], env: Mapping[str, str], last_key: str = "") -> tuple[int, str]:
    """Runs the demo at a terminal; types each answer when its question shows; returns its exit code and output.

    The last key is typed whenever nothing happens after the answers: what is typed in the moment in which a program
    begins to wait is lost.
    """
    controller, terminal = pty.openpty()
    with commands.started(*DEMO, env=env, terminal=terminal) as process:
        os.close(terminal)
        shown, left, deadline = "", list(answers), time.monotonic() + 120
        while time.monotonic() < deadline:
            if not select.select([controller], [], [], 0.5)[0]:
                os.write(controller, b"" if left else last_key.encode())
                continue
            chunk = _read(controller)
            if not chunk:
                break
            shown += chunk
            if left and left[0][0] in shown:
                os.write(controller, left.pop(0)[1].encode())
        code = process.wait(timeout=60)
    os.close(controller)
    return code, shown


def _read(controller: int) -> str:
    try:
        return os.read(controller, 4096).decode(errors="replace")
    except OSError:  # Linux: the other end is closed
        return ""


def test_at_a_terminal_the_person_at_the_keyboard_decides() -> None:
    answers = [
        ("Approve 1096.80 euros", "maybe\n"),
        ("answer y or n", "n\n"),
        ("Comment", "Take the train.\n"),
    ]
    env = commands.environment(DEMO_INTERACTIVE="1", TERM="xterm-256color")

    code, shown = at_a_terminal(answers, env, last_key=" ")

    assert code == 0
    assert '{"approved": false, "comment": "Take the train."}' in shown
    assert "Outcome: declined by the manager, booked as EXP-" in shown
    assert "In another terminal, in this folder, while the demo waits below." in shown
    assert left_behind(shown) == []


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
async def test_ctrl_c_or_ctrl_d_at_the_question_ends_the_demo_and_its_processes(key: str) -> None:
    answers = [("Approve 1096.80 euros", key)]
    env = commands.environment(DEMO_INTERACTIVE="1", TERM="xterm-256color")

    code, shown = await asyncio.to_thread(at_a_terminal, answers, env, last_key="\x03")

    assert code == 130
    assert "Traceback" not in shown
    assert re.search("Stopped; run expense-approval-demo-[0-9a-f]+ still waited for its answer", shown)
    for trace in traces(shown):  # a second Ctrl-C ends the demo at once, and then the kernel ends the others
        await asyncio.wait_for(commands.until_none_with(trace), timeout=90)


async def test_stopped_at_the_question_on_a_server_that_stays_it_tells_how_to_end_the_run(client: Client) -> None:
    answers = [("Approve 1096.80 euros", "\x04")]
    server = {"TEMPORAL_ADDRESS": client.service_client.config.target_host, "TEMPORAL_NAMESPACE": client.namespace}
    env = commands.environment(DEMO_INTERACTIVE="1", TERM="xterm-256color", **server)

    code, shown = await asyncio.to_thread(at_a_terminal, answers, env)

    assert code == 130
    stopped = re.search(r"Stopped; run (\S+) still waits for its answer.", shown)
    assert stopped is not None
    run = client.get_workflow_handle(stopped[1])
    assert (await run.describe()).status is WorkflowExecutionStatus.RUNNING
    shell(typed(shown, "workflow terminate"))
    assert (await run.describe()).status is WorkflowExecutionStatus.TERMINATED
