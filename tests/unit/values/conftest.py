from __future__ import annotations

import pytest
from hypothesis import settings

from temporal_adapter.values import Codec
from tests.unit.values.samples import TYPES

# The first example of a class pays for its analysis, and CI machines are slow.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


@pytest.fixture(scope="session")
def codec() -> Codec:
    return Codec(TYPES)
