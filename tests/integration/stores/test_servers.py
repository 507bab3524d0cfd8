"""The servers that the tests start: each ends with its block, however that ends."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from tests.support.stores import s3_service


def test_a_server_ends_with_its_block() -> None:
    with pytest.raises(LookupError), s3_service() as service:
        raise LookupError

    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(service.endpoint, timeout=5)
