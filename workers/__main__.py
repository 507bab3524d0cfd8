"""`python -m workers`: the generic worker (see `workers.cli`)."""

from __future__ import annotations

from temporal_adapter import process

_EXTRA = ("click", "rich")  # what the extra `workers` installs


def main() -> None:
    """Run the command line; also installed as `agent-framework-worker`, for projects with a package `workers`."""
    process.run_command(_command)


def _command() -> None:
    try:
        from workers import cli
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        raise SystemExit(
            f"Error: the worker needs {error.name}, which is not installed: "
            "pip install 'agent-framework-temporal[workers]'"
        ) from None
    cli.main(prog_name="python -m workers")


if __name__ == "__main__":
    main()
