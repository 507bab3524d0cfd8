"""How a process ends: exit codes, signals, and what still happens before the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from temporal_adapter import process
from tests.support import scripts

FINALIZATION_IS_SEEN = """
    import os, sys

    class Canary:
        def __del__(self, write=os.write):
            write(1, b"finalized\\n")

    sys.canary = Canary()
"""

SERVICE = """
    import asyncio, sys
    from temporal_adapter import process

    async def main():
        try:
            print("ready", flush=True)
            await asyncio.Event().wait()
        finally:
            {cleanup}
            print("closed", flush=True)

    process.{entry}(main())
"""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for each in processes:
        each.kill()
        each.communicate()


def test_a_plain_exit_finalizes_the_interpreter_which_the_canary_shows() -> None:
    done = scripts.run(FINALIZATION_IS_SEEN + "\n    sys.exit(3)")

    assert (done.returncode, done.stdout) == (3, "finalized\n")


def test_end_exits_with_the_code_and_never_finalizes_the_interpreter() -> None:
    done = scripts.run(FINALIZATION_IS_SEEN + "\n    from temporal_adapter import process\n    process.end(3)")

    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_end_waits_for_threads_then_calls_atexit_functions_then_flushes_logs_and_output() -> None:
    done = scripts.run("""
        import atexit, logging.handlers, sys, threading
        from temporal_adapter import process

        target = logging.StreamHandler(sys.stdout)
        logging.getLogger().addHandler(logging.handlers.MemoryHandler(100, target=target))
        logging.getLogger().warning("log")
        atexit.register(print, "atexit")
        main = threading.current_thread()
        released = threading.Event()
        threading.Thread(target=lambda: (released.wait(), print("thread"))).start()
        threading._register_atexit(released.set)
        print("main")
        process.end(0)
    """)

    assert (done.returncode, done.stdout.split()) == (0, ["main", "thread", "atexit", "log"])


def test_output_that_cannot_be_written_is_a_failure() -> None:
    read, write = os.pipe()
    os.close(read)
    code = "from temporal_adapter import process; print('lost'); process.end(0)"

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=scripts.REPOSITORY,
        env={**os.environ, "PYTHONUNBUFFERED": ""},  # print itself would fail, not the flush at the end
        stdout=write,
        check=False,
    )

    os.close(write)
    assert done.returncode == 120


@pytest.mark.parametrize(
    ("ending", "code", "message"),
    [
        ("return None", 0, ""),
        ("return 7", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(5)", 5, ""),
        ("sys.exit('no such report')", 1, "no such report"),
        ("raise ValueError('broken')", 1, "ValueError: broken"),
        ("asyncio.current_task().cancel(); await asyncio.sleep(0)", 1, "CancelledError"),
    ],
)
def test_run_exits_with_what_the_job_stands_for(ending: str, code: int, message: str) -> None:
    done = scripts.run(f"""
        import asyncio, sys
        from temporal_adapter import process

        async def main():
            {ending}

        process.run(main())
    """)

    assert done.returncode == code
    assert message in done.stderr
    assert bool(message) == bool(done.stderr)


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_job_that_is_interrupted_closes_what_it_opened_and_exits_as_in_a_shell(
    started: list[subprocess.Popen[str]], stop: signal.Signals, code: int
) -> None:
    job = scripts.start(SERVICE.format(entry="run", cleanup="await asyncio.sleep(0)"))
    started.append(job)
    assert scripts.line_of(job) == "ready"

    job.send_signal(stop)

    assert job.communicate(timeout=30) == ("closed\n", "")
    assert job.returncode == code


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_service_that_is_stopped_closes_what_it_opened_and_exits_with_0(
    started: list[subprocess.Popen[str]], stop: signal.Signals
) -> None:
    service = scripts.start(SERVICE.format(entry="serve", cleanup="await asyncio.sleep(0)"))
    started.append(service)
    assert scripts.line_of(service) == "ready"

    service.send_signal(stop)

    assert service.communicate(timeout=30) == ("closed\n", "")
    assert service.returncode == 0


def test_a_second_signal_ends_a_service_at_once_that_does_not_close(started: list[subprocess.Popen[str]]) -> None:
    stuck = "print('closing', flush=True); await asyncio.Event().wait()"
    service = scripts.start(SERVICE.format(entry="serve", cleanup=stuck))
    started.append(service)
    assert scripts.line_of(service) == "ready"
    service.send_signal(signal.SIGTERM)
    assert scripts.line_of(service) == "closing"

    service.send_signal(signal.SIGTERM)

    assert service.communicate(timeout=30) == ("", "")
    assert service.returncode == 143


def test_a_service_that_fails_exits_with_1_and_says_why() -> None:
    done = scripts.run("""
        from temporal_adapter import process

        async def main():
            raise RuntimeError("no server")

        process.serve(main())
    """)

    assert done.returncode == 1
    assert "RuntimeError: no server" in done.stderr


@pytest.mark.parametrize(("ending", "code"), [("None", 0), ("'text'", 0), ("sys.exit(2)", 2), ("1 / 0", 1)])
def test_run_command_exits_with_the_code_of_the_commands_system_exit(ending: str, code: int) -> None:
    done = scripts.run(f"import sys\nfrom temporal_adapter import process\nprocess.run_command(lambda: {ending})")

    assert done.returncode == code


def test_exit_code_lets_the_process_go_on_with_the_signal_handlers_it_had() -> None:
    before = _handlers()

    async def main() -> int:
        assert all(now is not then for now, then in zip(_handlers(), before, strict=True))
        return 4

    assert process.exit_code(main()) == 4
    assert _handlers() == before


def test_pytest_ends_with_its_own_exit_status_after_all_its_reports(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text("def test_good(): pass\ndef test_bad(): assert False\n")
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", f"--junitxml={tmp_path}/report.xml"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path / "test_two.py")],
        cwd=scripts.REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout.splitlines()[-1]
    assert 'failures="1"' in (tmp_path / "report.xml").read_text()


def _handlers() -> list[object]:
    return [signal.getsignal(each) for each in process.STOP_SIGNALS]
