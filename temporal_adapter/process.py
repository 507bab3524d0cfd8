"""How a process that used Temporal or the blob store begins and ends: signals in, a trustworthy exit code out.

Every program of this repository (demo, command line, workers, the tests) ends through `end`, because a plain
`sys.exit` is not safe after Temporal's SDK was used, or obstore, which hands results over the same way:

    A result of the native core reaches asyncio on a native thread, which calls `call_soon_threadsafe`. That
    call writes to the loop's wake-up socket and gives up the GIL for the write. The main thread wakes, takes the
    result, and when that was the last thing the program waited for (a worker's shutdown is), it starts to finalize
    the interpreter. When the native thread then asks for the GIL back, CPython before 3.14 ends the thread; the
    stack unwinds through the native code, whose destructor releases a GIL that it does not hold, and CPython aborts
    the process: "PyGILState_Release: thread state must be current when releasing", exit code 134 (at times 139).

Nothing that Python can see tells when that thread is through, so no wait is a proof. `end` does all that an exit
does, but for the finalization itself, as `multiprocessing` ends its children.

Nothing about workflows, servers or output belongs here.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, NoReturn

_log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# What Python itself answers with when its standard output cannot be written at exit.
_OUTPUT_LOST = 120


def run(main: Coroutine[Any, Any, int | None]) -> NoReturn:
    """Runs a job to its end, then ends the process with the job's exit code (see `exit_code`).

    A job that SIGINT or SIGTERM interrupts exits with 128 plus the signal's number, as in a shell: 130 or 143.
    """
    end(exit_code(main))


def serve(main: Coroutine[Any, Any, int | None]) -> NoReturn:
    """Runs a service, such as a worker, until SIGINT or SIGTERM stops it, then ends the process.

    To be stopped by a signal is what a service is for, so it exits with 0. A service that fails exits as in `run`.
    """
    end(exit_code(main, interrupted=lambda _: 0))


def run_command(command: Callable[[], object]) -> NoReturn:
    """Calls a synchronous main function, such as a click command, then ends the process.

    The exit code is that of its `SystemExit`, which click always raises; 0 when it returns, 1 when it raises.
    """
    end(_guarded(lambda: _no_code(command())))


def exit_code(main: Coroutine[Any, Any, int | None], *, interrupted: Callable[[int], int] = lambda n: 128 + n) -> int:
    """Runs `main` in a new event loop and returns the exit code it stands for. The process goes on.

    The first SIGINT or SIGTERM cancels `main`, so that its `async with` blocks close what they opened: a worker
    finishes its tasks within its `graceful_shutdown_timeout`. A second one ends the process at once.

    Args:
        main: What to run. It returns its exit code, or None for 0.
        interrupted: Gives the exit code for the signal (by number) that made `main` end as cancelled.

    Returns:
        What `main` returned or the code of its `SystemExit`; 1 for any other error, whose traceback is printed.
    """
    return _guarded(lambda: asyncio.run(_until_stopped(main, interrupted)))


def end(code: int) -> NoReturn:
    """Ends the process with `code` after an orderly exit, but without finalizing the interpreter.

    As at any exit, this waits for threads that are not daemons, calls the `atexit` functions, and flushes logging and
    the standard streams. What only finalization does is left out: `__del__` of objects still alive is not called. To
    be called in the main thread.
    """
    # From here on there is nothing to cancel: a signal just ends the process.
    for each in STOP_SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    # The two that Py_FinalizeEx calls first, in its order.
    threading._shutdown()  # pyright: ignore
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
    logging.shutdown()
    os._exit(code if _flushed() else code or _OUTPUT_LOST)


async def _until_stopped(main: Coroutine[Any, Any, int | None], interrupted: Callable[[int], int]) -> int:
    loop = asyncio.get_running_loop()
    task = loop.create_task(main)
    received: list[int] = []

    def stop(signum: int, _: FrameType | None) -> None:
        if received:
            os._exit(128 + signum)
        received.append(signum)
        _log.info("%s: stopping; a second one ends the process at once", signal.Signals(signum).name)
        loop.call_soon_threadsafe(task.cancel)

    before = {each: signal.signal(each, stop) for each in STOP_SIGNALS}
    try:
        return await task or 0
    except asyncio.CancelledError:
        if not received:
            raise
        return interrupted(received[0])
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _guarded(main: Callable[[], int]) -> int:
    """Calls `main` and turns whatever it raises into an exit code, as the interpreter does for a script."""
    try:
        return main()
    except SystemExit as exit:
        if exit.code is None or isinstance(exit.code, int):
            return exit.code or 0
        print(exit.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1


def _no_code(_: object) -> int:
    return 0


def _flushed() -> bool:
    """Flushes the standard streams; false when one cannot take what was written to it (a closed pipe, a full disk)."""
    kept = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            kept = False
    return kept
