"""The benchmark: a MAF chain on Temporal against the Temporal workflow that one would write by hand instead.

    python -m bench            (or `make bench`)

Depends on `temporal_adapter` and `workers`; nothing depends on it. What its two sides do is in `bench.sides`, how they
are measured in `bench.driver`.
"""
