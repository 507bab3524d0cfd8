"""An async context that is open while a synchronous block runs, in an event loop and thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def in_background(context: AbstractAsyncContextManager[T]) -> Generator[T, None, None]:
    """Open an async context in a thread; close it there at the end of the block. Yields what it yields.

    For things that do not mind in which loop they are used, as Temporal's clients: the loops of the caller, of which
    there may be one for each test, come and go in the meantime.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="temporal-environment", daemon=True)
    thread.start()
    try:
        opened = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result()
        try:
            yield opened
        finally:
            asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
