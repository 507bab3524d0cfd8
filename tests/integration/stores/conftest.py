"""Every kind of blob store, for tests of what holds on all of them."""

from __future__ import annotations

import pytest

from temporal_adapter import BlobStore
from tests.support.stores import KINDS, Place, new_place


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest) -> Place:
    return new_place(request.param, request)


@pytest.fixture
def blobs(place: Place) -> BlobStore:
    return place.open()
