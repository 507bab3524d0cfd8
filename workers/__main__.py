"""`python -m workers`: the generic worker (see `workers.cli`)."""

from __future__ import annotations

from workers import cli, process

if __name__ == "__main__":
    process.run_command(lambda: cli.main(prog_name="python -m workers"))
