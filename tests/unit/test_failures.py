"""An exception is made again of what history has of it, if what is made says the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_framework.observability import OBSERVABILITY_SETTINGS

from temporal_adapter import wire
from temporal_adapter.failures import failure_of, rebuilt


class Declined(Exception):
    """Its constructor takes something else than its args."""

    def __init__(self, *, code: int) -> None:
        super().__init__(f"declined with code {code}")
        self.code = code


class NotFound(FileNotFoundError):
    """Likewise, on a class that keeps its arguments where Python code does not see them."""

    def __init__(self, *, path: str) -> None:
        super().__init__(2, "not here", path)


class InSlots(Exception):
    __slots__ = ("code",)

    def __init__(self, code: int) -> None:
        super().__init__("code")
        self.code = code

    def __str__(self) -> str:
        return f"code {self.code}"


class OfAnObject(Exception):
    def __init__(self, answer: dict[str, int]) -> None:
        super().__init__("failed")
        self.answer = answer

    def __str__(self) -> str:
        return f"failed with {self.answer['code']}"


class SaysAnother(Exception):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = (text,)

    def __str__(self) -> str:
        return self.text[0] if hasattr(self, "text") else "something else"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Odd(Exception):
    """Its class makes an object of another."""

    made = 0

    def __new__(cls, *_: Any) -> Any:
        cls.made += 1
        return super().__new__(cls) if cls.made == 1 else "no exception"


class Unlike(Exception):
    """Its args and attributes are such as no JSON can have."""

    def __init__(self) -> None:
        super().__init__("unlike")
        vars(self)[("a", "key")] = 1
        self.number = 10**5000


def again(error: Exception) -> Exception | None:
    failure = failure_of(error)
    assert failure.raised is not None
    return rebuilt(wire.load(wire.Raised, wire.dump(failure.raised)), failure.message)


def raised_by(action: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of whichever class
        action()
    return raised.value


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        ValueError("no", 1, None, 0.5),
        ValueError(),
        KeyError("name"),
        Declined(code=7),
        NotFound(path="/a"),
        raised_by(lambda: Path("/no/such/file").read_text(encoding="utf-8")),
        raised_by(lambda: "é".encode("ascii")),
        raised_by(lambda: next(iter(()))),
        ValueError("lone \ud800 surrogate"),
    ],
    ids=repr,
)
def test_an_exception_is_made_again_as_it_was(error: Exception) -> None:
    made = again(error)

    assert type(made) is type(error)
    assert (str(made), made.args, vars(made)) == (str(error), error.args, vars(error))


def test_an_operating_system_error_keeps_the_names_of_its_files() -> None:
    made = again(raised_by(lambda: Path("/no/such/a").rename("/no/such/b")))

    assert isinstance(made, FileNotFoundError)
    assert str(made) == "[Errno 2] No such file or directory: '/no/such/a' -> '/no/such/b'"


def test_an_exception_too_long_for_history_is_made_of_what_history_has_of_its_message() -> None:
    made = again(ValueError("long " * 1000))

    assert isinstance(made, ValueError)
    assert str(made).startswith("long long")
    assert str(made).endswith("(5000 characters)")


def test_one_whose_attributes_no_json_can_have_is_made_without_them() -> None:
    assert isinstance(again(Unlike()), Unlike)


def test_one_without_a_message_is_made_where_temporal_gave_it_one() -> None:
    assert isinstance(rebuilt(wire.Raised(cls="builtins:AssertionError", args=[]), "Application error"), AssertionError)


@pytest.mark.parametrize(
    "error",
    [
        InSlots(7),
        OfAnObject({"code": 7}),
        SaysAnother("this"),
        Mute(),
        Odd(),
        raised_by(lambda: b"\xff".decode("utf-8")),
    ],
    ids=lambda error: type(error).__name__,
)
def test_one_that_would_not_say_the_same_is_not_made(error: Exception) -> None:
    assert again(error) is None


@pytest.mark.parametrize(
    "cls",
    [
        "tests.support.exits_on_import:Error",
        "no_such_module:Error",
        "tests.unit.test_failures:NoSuchError",
        "builtins:KeyboardInterrupt",
        "builtins:dict",
        "builtins:print",
        "",
        ":",
    ],
)
def test_what_is_no_exception_here_is_not_made(cls: str) -> None:
    assert rebuilt(wire.Raised(cls=cls, args=["message"]), "message") is None


def test_a_failure_can_be_written_down_whatever_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_sensitive_data", True)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_instrumentation", True)
    failure = failure_of(raised_by(lambda: _raise(ValueError("lone \udc80 surrogate"))))

    assert failure.error_type == "ValueError"
    assert failure.message == failure.details.message == "lone \\udc80 surrogate"
    assert failure.details.traceback is not None
    for text in (failure.message, failure.details.message, failure.details.traceback):
        assert text.encode("utf-8")


def _raise(error: Exception) -> None:
    raise error
