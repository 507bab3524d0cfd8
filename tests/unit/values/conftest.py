from __future__ import annotations

import pytest

from temporal_adapter.values import Codec
from tests.unit.values.samples import TYPES


@pytest.fixture(scope="session")
def codec() -> Codec:
    return Codec(TYPES)
