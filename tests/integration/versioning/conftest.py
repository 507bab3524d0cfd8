"""A desk at which `temporal-adapter` is typed, as the tests of its commands have it."""

from tests.integration.cli.runs.conftest import desk

__all__ = ["desk"]
