"""`python -m temporal_adapter.cli`: the same as `temporal-adapter`."""

from __future__ import annotations

from temporal_adapter.cli import main

if __name__ == "__main__":
    main()
