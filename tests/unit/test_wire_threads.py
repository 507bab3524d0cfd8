"""Shapes are read by many threads at once: a worker runs each workflow in one."""

from __future__ import annotations

from tests.support import scripts

_AT_ONCE = """
    import sys, threading
    from temporal_adapter import wire

    sys.setswitchinterval(1e-6)
    graph = {"name": "g", "signature": "s", "start_executor_id": "a", "executors": ["a"], "max_iterations": 1}
    message = {"message": {"source_id": "a", "data": {"inline": 1, "size": 1}}, "routes": []}
    together = threading.Barrier(4)

    def read():
        together.wait()
        wire.load(wire.SeedResult, {"graph": graph, "message": message, "at": "2026-01-01T00:00:00+00:00"})

    threads = [threading.Thread(target=read) for _ in range(4)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    print("read", flush=True)
"""


def test_threads_that_read_a_shape_for_the_first_time_at_once_do_not_crash_the_process() -> None:
    processes = [scripts.start(_AT_ONCE) for _ in range(4)]

    outcomes = scripts.outcomes(processes)

    assert [(code, out) for code, out, _ in outcomes] == [(0, "read\n")] * 4
