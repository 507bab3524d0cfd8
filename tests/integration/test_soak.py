"""The soak, in a short form: runs that go on as new Temporal runs several times lose nothing on the way."""

from __future__ import annotations

import subprocess
import sys

from tests.support.scripts import REPOSITORY


def test_a_short_soak_loses_nothing_over_several_temporal_runs() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "bench.soak", "--supersteps", "80", "--inputs", "20", "--after", "60"],
        cwd=REPOSITORY,
        env={"COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    rows = [line.split("│") for line in ended.stdout.splitlines() if "all right" in line]
    assert [row[1].strip() for row in rows] == ["supersteps", "inputs"]
    assert all(int(row[3]) > 3 for row in rows), ended.stdout
