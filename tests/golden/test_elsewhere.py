"""Wherever a history is replayed, the run gives the same commands, to the last byte; and MAF takes no part in it."""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import replays
from tests.golden.processes import Elsewhere, modules_for, other_maf, other_pythons

VERSION = importlib.metadata.version(replays.PACKAGE)

_NO_MAF = "raise ImportError('MAF is not installed here')\n"

_OTHER_MAF = """
__version__ = "0.0.1"

def __getattr__(name):
    raise RuntimeError(f"agent_framework.{name} was asked for")
"""


@pytest.fixture
def without_maf(tmp_path: Path) -> Path:
    """A folder that makes MAF, and the graphs of `workers`, impossible to import."""
    for name in ("agent_framework", "workers"):
        package = tmp_path / "without" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(_NO_MAF)
    return tmp_path / "without"


@pytest.fixture
def with_another_maf(tmp_path: Path) -> Path:
    """A folder with a MAF of another version, which stands no use."""
    package = tmp_path / "another" / "agent_framework"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(_OTHER_MAF)
    return tmp_path / "another"


async def assert_all_the_same(*processes: Elsewhere, version: str | None = None) -> None:
    """Assert that stored histories, all or those of a version, replay in each process, by the same commands."""
    told = await asyncio.gather(*(one.replayed(*([version] if version else [])) for one in processes))

    stored = {replays.name_of(path) for path in replays.paths(version)}
    for one in told:
        assert one["imported"] == []
        assert one["replayed"].keys() == stored
        assert {name: why for name, (why, _) in one["replayed"].items() if why is not None} == {}
        assert one["replayed"] == told[0]["replayed"]


async def test_the_commands_are_the_same_without_maf_and_with_another_one_in_any_python_and_for_any_hash_seed(
    without_maf: Path, with_another_maf: Path, record_property: Callable[[str, object], None]
) -> None:
    """In another Python, where this machine has one; the report says in which."""
    others = [*other_pythons().items()][:1]
    record_property("other python", others[0][0] if others else "there is none")
    elsewhere = [Elsewhere(1, with_another_maf, python, await modules_for(version)) for version, python in others] or [
        Elsewhere(1, with_another_maf)
    ]

    await assert_all_the_same(Elsewhere(0, without_maf), *elsewhere, version=VERSION)


async def test_the_commands_are_the_same_in_all_pythons_of_this_machine(
    without_maf: Path, record_property: Callable[[str, object], None]
) -> None:
    pythons = other_pythons()
    record_property("other pythons", ", ".join(pythons) or "there are none")
    others = [
        Elsewhere(seed, without_maf, python, await modules_for(version))
        for seed, (version, python) in enumerate(pythons.items(), 2)
    ]

    await assert_all_the_same(Elsewhere(0, without_maf), *others)


async def test_the_commands_are_the_same_with_the_release_of_maf_before(
    record_property: Callable[[str, object], None],
) -> None:
    version, folder = await other_maf()
    record_property("maf", version)

    await assert_all_the_same(Elsewhere(0), Elsewhere(12345, folder))
