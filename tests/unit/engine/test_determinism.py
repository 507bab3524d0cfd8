"""The same facts give the same decisions: in another engine, and in a process that hashes strings otherwise."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from temporal_adapter import wire
from temporal_adapter.engine import Engine

from .owner import Manner, Owner, stamp
from .scripted import Group, Script, scripts

BUSY = Script(
    seed=7,
    groups={
        "e0": (Group(("e1", "e2")), Group(fan_in="fan0")),
        "e1": (Group(("e0",)), Group(fan_in="fan0")),
        "e2": (Group(("e1", "e0")), Group(fan_in="fan1")),
    },
    fan_ins={"fan0": wire.FanIn(sources=["e0", "e1"], target="e2"), "fan1": wire.FanIn(sources=["e2"], target="e1")},
    hops=4,
    pads=(0, 300, 3000),
    asking=0.4,
)


@given(
    script=scripts(failing=0.02),
    dice=st.randoms(use_true_random=True),
    manner=st.builds(Manner, store_failures=st.integers(0, 4), junk=st.integers(0, 4)),
)
@settings(max_examples=80, deadline=None)
def test_the_same_facts_give_the_same_decisions(script: Script, dice: Random, manner: Manner) -> None:
    owner = Owner(script, dice, manner).run()
    numbers = itertools.count(1)
    replayed = Engine(lambda: stamp(next(numbers)))

    replayed.start(owner.first, wire.StartOptions())

    assert [replayed.receive(fact) for fact in owner.facts] == owner.decisions
    assert replayed.status() == owner.engine.status()
    assert replayed.journal.events == owner.engine.journal.events


def digest() -> str:
    """Return a digest of all decisions of some busy runs."""
    runs = [Owner(BUSY, Random(seed), Manner(store_failures=3, junk=5)).run() for seed in range(5)]
    assert sum(len(run.facts) for run in runs) > 30
    return hashlib.sha256("\n".join(repr(run.decisions) for run in runs).encode()).hexdigest()


def test_decisions_do_not_depend_on_how_a_process_hashes() -> None:
    command = "from tests.unit.engine.test_determinism import digest; print(digest())"
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}

    other = subprocess.run(
        [sys.executable, "-c", command], cwd=root, env=environment, capture_output=True, text=True, check=True
    )

    assert other.stdout.strip() == digest()
