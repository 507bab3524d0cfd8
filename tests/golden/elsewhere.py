"""Replays stored histories, all or a version's, in this process, whatever it is, and prints what came of each.

    python -m tests.golden.elsewhere [VERSION]

See `processes`. It runs where MAF cannot be imported or is another version, with any Python that has Temporal's SDK and
msgspec.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys

from tests.golden import replays


async def main(version: str | None) -> None:
    """Print a JSON object: of each history why it does not replay, if so, and a digest of the commands."""
    logging.disable(logging.CRITICAL)  # told in the result
    histories = [replays.history_of(path) for path in replays.paths(version)]
    watching = replays.Watching()
    failed = await replays.failures(histories, watching)
    told = {
        one.workflow_id: [failed.get(one.workflow_id), replays.digest(watching.commands[one.workflow_id])]
        for one in histories
    }
    imported = sorted(name for name in sys.modules if name.partition(".")[0] in ("agent_framework", "workers"))
    print(json.dumps({"replayed": told, "imported": imported, "python": sys.version.split()[0]}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))
    os._exit(0)  # what a process does in its end is not looked at
