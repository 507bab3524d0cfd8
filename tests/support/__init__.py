"""Helpers that several test files share. Fixtures are in `conftest.py`."""
