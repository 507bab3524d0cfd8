"""Records the golden histories of the installed release: `make record-histories`."""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import logging
import shutil
import sys
from pathlib import Path
from typing import Any

import temporal_adapter
from temporal_adapter import process
from tests.golden.recording import record, recording_client
from tests.golden.scenarios import SCENARIOS
from tests.golden.scrubbing import foreign_in, to_text
from tests.golden.stage import Scenario

HISTORIES = Path(__file__).parents[1] / "histories"


def main() -> int:
    """Record, and return the exit code."""
    version = importlib.metadata.version("agent-framework-temporal")
    options = _options(version)
    able = [one for one in SCENARIOS if one.belongs_to(options.version)]
    chosen = [one for one in able if not options.only or one.name in options.only]
    unknown = set(options.only) - {one.name for one in chosen}
    if unknown:
        return _refused(f"no scenario is called {', '.join(sorted(unknown))}")
    if options.version != version and not options.earlier:
        return _refused(f"the installed release is {version}: what another recorded stays as it is")
    into = HISTORIES / options.version
    if into.exists() and (options.earlier or not options.replace):
        return _refused(f"{into} is there; of an installed version that is not released yet, --replace records it anew")
    print(f"Recording {len(chosen)} scenarios with {Path(temporal_adapter.__file__).parent}", flush=True)
    recorded = asyncio.run(_recorded(chosen))
    foreign = [f"{name}: {what}" for name, history in recorded.items() for what in foreign_in(history)]
    if foreign:
        return _refused("\n".join(["these histories tell of this machine:", *foreign]))
    if into.exists() and not options.only:
        shutil.rmtree(into)
    into.mkdir(parents=True, exist_ok=True)
    for name, history in recorded.items():
        (into / f"{name}.json").write_text(to_text(history))
    size = sum(one.stat().st_size for one in into.iterdir())
    print(f"{len(recorded)} histories of {size / 1024:.0f} KiB in all are in {into}")
    return 0


def _options(version: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make record-histories", description=__doc__)
    parser.add_argument("--replace", action="store_true", help="record a version anew that has histories")
    parser.add_argument("--only", action="append", default=[], metavar="SCENARIO", help="may be given several times")
    parser.add_argument("--version", default=version, help="the directory; of the installed release by default")
    parser.add_argument("--earlier", action="store_true", help="--version names a commit before a release")
    return parser.parse_args()


async def _recorded(chosen: list[Scenario]) -> dict[str, dict[str, Any]]:
    logging.disable(logging.CRITICAL)  # scenarios fail on purpose
    async with recording_client() as client:
        return await record(client, chosen)


def _refused(reason: str) -> int:
    print(f"Nothing was recorded: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    process.end(main())
