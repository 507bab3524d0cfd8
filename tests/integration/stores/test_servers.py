"""The servers that the tests start: each ends with its block, however that ends."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.support.stores import Service, azure_service, s3_service


@pytest.mark.parametrize("start", [s3_service, azure_service])
def test_a_server_ends_with_its_block(start: Callable[[], AbstractContextManager[Service]]) -> None:
    with pytest.raises(LookupError), start() as service:
        raise LookupError

    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(service.endpoint, timeout=5)
