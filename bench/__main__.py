"""`python -m bench`: measures, prints the comparison, and writes it to bench/results.json.

The exit code is 0 whether or not the goals are reached, and 1 when nothing could be measured: how fast a machine is
at the moment is no property of the code.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from bench import report
from bench.driver import NotMeasured, measure
from temporal_adapter import process
from workers.dev_server import DevServerError

RESULTS = Path(__file__).with_name("results.json")


async def main(steps: int, rounds: int, results: Path) -> int:
    console = Console()
    try:
        with console.status("starting") as status:
            figures = await measure(steps, rounds, status.update)
    except (NotMeasured, DevServerError) as error:
        print(f"Not measured: {error}", file=sys.stderr)
        return 1
    report.show(console, figures, steps, rounds)
    _write(results, report.as_json(figures, steps, rounds))
    console.print(f"Written to {results}", soft_wrap=True)
    return 0


def _write(results: Path, data: dict[str, Any]) -> None:
    results.write_text(json.dumps(data, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Compare with a hand-written workflow.")
    parser.add_argument("--executors", type=_whole(2), default=50, help="steps of the chain (default: 50)")
    parser.add_argument("--rounds", type=_whole(1), default=9, help="runs of each side that count (default: 9)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file for the JSON (default: bench/results.json)")
    return parser.parse_args()


def _whole(smallest: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdigit() or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"expected a whole number of {smallest} or more, got {text!r}")
        return int(text)

    return number


if __name__ == "__main__":
    given = _arguments()
    process.run(main(given.executors, given.rounds, given.results))
