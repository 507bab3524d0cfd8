"""`python -m workers`: the generic worker (see `workers.cli`)."""

from __future__ import annotations

from temporal_adapter import process


def main() -> None:
    """Run the command line; also installed as `agent-framework-worker`, for projects with a package `workers`."""
    process.run_command(_command)


def _command() -> None:
    try:
        from workers import cli
    except ModuleNotFoundError as error:
        if error.name != "click":  # of the extra `workers`; its other package is for the demo
            raise
        raise SystemExit(
            "Error: the worker needs click, which is not installed: pip install 'agent-framework-temporal[workers]'"
        ) from None
    cli.main(prog_name="python -m workers")


if __name__ == "__main__":
    main()
