"""The benchmark measures both sides and writes down all its figures. How large they are is never asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.scripts import REPOSITORY

RATIOS = ("time", "memory")


def test_a_short_benchmark_prints_and_writes_every_figure_of_both_sides(tmp_path: Path) -> None:
    results = tmp_path / "results.json"

    ended = _bench("--executors", "3", "--rounds", "1", "--results", str(results))

    assert (ended.returncode, ended.stderr) == (0, "")
    written = json.loads(results.read_text())
    assert (written["executors"], written["rounds"]) == (3, 1)
    for side in (written["sides"]["maf"], written["sides"]["hand-written"]):
        assert len(side.pop("ms_of_runs")) == 1
        assert sorted(side) == [
            "history_bytes",
            "history_events",
            "median_ms_per_run",
            "median_ms_per_step",
            "peak_memory_bytes",
        ]
        assert all(figure > 0 for figure in side.values())
    for name in RATIOS:
        goal = written["goals"][name]
        assert goal["passed"] == (goal["ratio"] <= goal["limit"])
        assert f"{'PASS' if goal['passed'] else 'MISSED'} {name}" in ended.stdout


def test_a_chain_of_one_executor_is_refused_with_what_is_expected() -> None:
    ended = _bench("--executors", "1")

    assert ended.returncode == 2
    assert "expected a whole number of 2 or more, got '1'" in ended.stderr


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=REPOSITORY, capture_output=True, text=True, timeout=120
    )
