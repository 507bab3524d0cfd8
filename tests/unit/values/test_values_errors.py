"""An error of the codec says on the client what it said on the worker."""

from __future__ import annotations

import copy
import threading

import pytest

from temporal_adapter.values import Codec, EncodeError


def test_an_encode_error_names_the_way_to_the_object() -> None:
    with pytest.raises(EncodeError, match=r"^report\['items'\]\[0\]: type _thread.lock cannot be stored"):
        Codec().encode({"items": [threading.Lock()]}, "report")


def test_an_encode_error_that_is_made_again_without_its_init_says_the_same() -> None:
    again = EncodeError.__new__(EncodeError, "report: it cannot be stored.")

    assert str(again) == "report: it cannot be stored."


def test_the_way_of_a_copied_encode_error_is_its_own() -> None:
    error = EncodeError("it cannot be stored.")
    copied = copy.copy(error)
    copied.within(".client")

    assert (str(error), str(copied)) == ("it cannot be stored.", "client: it cannot be stored.")
