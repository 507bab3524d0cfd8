"""`temporal-adapter checkpoint debug`: a checkpoint of production, in the debugger of the person at the terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.support import commands

from .conftest import SHOP, Shell, Store

PAUSE = 6  # of `order-1`, before its last answer
FACTORY = ("--workflow", "shop:build_order")


# Shows what the executor has when the run has ended and the process exits.
SHOWS_STOCK = """    import atexit
    atexit.register(lambda: print('stock knows', stock.reserved))
    return builder.add_edge(manager, ship).build()"""


def edited(shell: Shell, marker: str, code: str) -> None:
    """Put a line of code into the developer's workflow, as they would in their editor."""
    assert SHOP.count(marker) == 1
    (shell.folder / "shop.py").write_text(SHOP.replace(marker, code))


def yes(store: Store) -> tuple[str, str]:
    return "--respond", f"{store.manager_request}=true"


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_breakpoint_in_an_executor_opens_the_debugger(shell: Shell, store: Store) -> None:
    edited(shell, "# BREAKPOINT", "breakpoint()")

    ended = shell.run(
        "checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store),
        typed="p total\np question\np ctx.get_state('opinions')[0]\ncontinue\n",
    )  # fmt: skip

    assert ended.code == 0, ended
    assert "(Pdb) 4\n" in ended.out
    assert "(Pdb) Question(text='Ship it?')\n" in ended.out
    assert "(Pdb) 'reserved for Ada'\n" in ended.out
    assert "shop.py" in ended.out
    assert 'output ship "shipped"' in ended.out


def test_it_works_at_a_terminal(shell: Shell, store: Store) -> None:
    edited(shell, "# BREAKPOINT", "breakpoint()")
    ours, theirs = pty.openpty()
    command = ["checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store)]
    process = subprocess.Popen(
        [sys.executable, "-m", "temporal_adapter.cli", *command],
        cwd=shell.folder,
        env={**shell.env, "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        _read_until(ours, "(Pdb) ")
        os.write(ours, b"p total * 1000\n")
        assert "4000" in _read_until(ours, "(Pdb) ")
        os.write(ours, b"continue\n")
        assert "shipped" in _read_until(ours, "IDLE")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read_until(terminal: int, text: str) -> str:
    seen, deadline = "", time.monotonic() + 60
    while text not in seen:
        readable, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert readable, f"no {text!r} in {seen!r}"
        seen += os.read(terminal, 4096).decode()
    return seen


def test_it_says_that_executors_run_for_real_and_prints_events_as_they_come(shell: Shell, store: Store) -> None:
    ended = shell.run("checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store))

    assert ended.code == 0
    assert "Executors of 'order' now run for real, in this process" in ended.err
    lines = ended.out.splitlines()
    assert lines.index("executor_invoked manager true") < lines.index('output ship "shipped"')
    assert lines[-1] == "status IDLE"


def test_nothing_is_written_to_the_store(shell: Shell, store: Store) -> None:
    before = files(store.folder)

    shell.run("checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store))

    assert files(store.folder) == before


def test_the_entry_checkpoint_runs_everything_and_says_what_it_waits_for(shell: Shell) -> None:
    ended = shell.run("checkpoint", "debug", shell.id_of("order-1", 0), *FACTORY)

    assert ended.code == 0
    assert 'executor_invoked intake {"customer": "Ada", "amount": 3}' in ended.out
    assert "Waits for a response to " in ended.out
    assert " of legal, of type str." in ended.out


def test_attributes_of_executors_without_hooks_are_those_of_the_run(shell: Shell) -> None:
    # Given a checkpoint from before the executor is called, and after: in the first it knows nobody yet
    edited(shell, "        self.reserved.append(order.customer)", "        print('stock knows', self.reserved)")
    before = shell.run("checkpoint", "debug", shell.id_of("order-1", 1), *FACTORY)
    assert "stock knows []" in before.out

    edited(shell, "    return builder.add_edge(manager, ship).build()", SHOWS_STOCK)
    after = shell.run("checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY)

    assert "stock knows ['Ada']" in after.out


def test_json_is_one_document_whatever_executors_print(shell: Shell, store: Store) -> None:
    edited(shell, "# BREAKPOINT", "print('an executor speaks'); breakpoint()")

    ended = shell.run(
        "checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store), "--json", typed="continue\n"
    )
    document = shell.json("checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY)

    assert ended.code == 0
    assert ended.out.startswith("{")
    assert "an executor speaks" in ended.err
    assert (document["state"], document["outputs"]) == ("IDLE_WITH_PENDING_REQUESTS", [])
    assert document["pending_requests"] == [store.manager_request]


def test_an_executor_that_raises_shows_its_stack_trace_and_exits_with_1(shell: Shell, store: Store) -> None:
    edited(shell, "# FAULT", "raise LookupError('no such parcel')")

    ended = shell.run("checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store))

    assert ended.code == 1
    assert "executor_failed ship LookupError" in ended.out
    assert f"{shell.folder / 'shop.py'}" in ended.err
    assert ended.err.rstrip().endswith("LookupError: no such parcel")


def test_leaving_the_debugger_is_no_error_of_the_executor(shell: Shell, store: Store) -> None:
    edited(shell, "# BREAKPOINT", "breakpoint()")

    ended = shell.run("checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store), typed="quit\n")

    assert ended.code == 130
    assert ended.err.endswith("Left in the debugger.\n")


def test_an_interrupt_ends_the_run(shell: Shell, store: Store) -> None:
    edited(shell, "# BREAKPOINT", "import asyncio; print('asleep', flush=True); await asyncio.sleep(600)")
    command = ["checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, *yes(store)]

    with commands.started("-m", "temporal_adapter.cli", *command, cwd=shell.folder, env=shell.env) as process:
        commands.line_with(process, "asleep")
        process.send_signal(signal.SIGINT)
        ended = commands.ended(process)

    assert ended.code == 130
    assert "Traceback" not in ended.err


def refused(shell: Shell, *options: str, checkpoint_id: str | None = None) -> str:
    """Return the one line that refuses a command."""
    ended = shell.run("checkpoint", "debug", checkpoint_id or shell.id_of("order-1", PAUSE), *options)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    return line


def test_wrong_responses_are_refused_before_anything_runs(shell: Shell, store: Store) -> None:
    asked = store.manager_request

    assert "must be bool" in refused(shell, *FACTORY, "--respond", f"{asked}=12")
    assert "has no JSON" in refused(shell, *FACTORY, "--respond", f"{asked}=yes")
    assert f"Pending: {asked}." in refused(shell, *FACTORY, "--respond", "someone-else=true")


def test_another_graph_is_refused(shell: Shell) -> None:
    edited(shell, 'Ship(id="ship")', 'Ship(id="deliver")')

    assert "builds another graph than that of checkpoint" in refused(shell, *FACTORY)


def test_another_workflow_is_refused(shell: Shell) -> None:
    edited(shell, 'WorkflowBuilder(name="order"', 'WorkflowBuilder(name="purchase"')

    assert "is of workflow 'order', and 'shop:build_order' builds 'purchase'" in refused(shell, *FACTORY)


def test_a_factory_that_is_not_there_or_raises_is_told_in_one_line(shell: Shell) -> None:
    edited(
        shell,
        "    lawyer = WorkflowBuilder(name=",
        "    raise LookupError('no settings')\n    lawyer = WorkflowBuilder(name=",
    )

    assert "module 'shop' has no 'build'; it has build_order." in refused(shell, "--workflow", "shop:build")
    assert "cannot build its workflow: LookupError: no settings" in refused(shell, *FACTORY)


def test_a_value_that_the_store_lost_is_told_in_one_line(shell: Shell, copied: Path) -> None:
    for path in (copied / shell.env["TEMPORAL_NAMESPACE"] / "values").rglob("*"):
        if path.is_file():
            path.unlink()

    ended = shell.run("checkpoint", "debug", shell.id_of("order-1", PAUSE), *FACTORY, "--checkpoint-store", str(copied))

    assert (ended.code, ended.out) == (3, "")
    [line] = ended.err.splitlines()
    assert shell.id_of("order-1", PAUSE) in line
    assert "backup" in line
