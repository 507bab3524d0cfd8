"""The JUnit XML of a gate, as a CI system reads it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from temporal_adapter.replaying import Divergence, Replayed
from temporal_adapter.replaying.junit import write_junit

GOOD = Replayed("greet-ada", "r1", "greeting", 30, 0.0214, "replays")
TEXT = "superstep 2: this release would do executor 'left', which the history does not have there"
ASTRAY = Replayed(
    "greet-bob",
    "r2",
    "greeting",
    12,
    0.5,
    "diverges",
    source="histories/bob.json",
    reason=TEXT,
    divergence=Divergence(2, "left", None, None, "executor 'left'", TEXT),
    temporal="No command scheduled",
)
DAMAGED = Replayed(
    "cut.json", "", "", 0, 0.0, "unreadable", source="cut.json", reason="cut.json: it is \x1b[31mcut\x00"
)
FOREIGN = Replayed("other", "r3", "anothers", 4, 0.0, "foreign", reason="it is none of the adapter's")


def suite(path: Path) -> ElementTree.Element:
    [found] = ElementTree.parse(path).getroot().iter("testsuite")
    return found


def test_each_history_is_a_case(tmp_path: Path) -> None:
    write_junit(tmp_path / "new" / "junit.xml", [GOOD, ASTRAY, DAMAGED, FOREIGN])

    found = suite(tmp_path / "new" / "junit.xml")
    assert [found.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    assert [
        (case.get("name"), case.get("classname"), [one.tag for one in case]) for case in found.iter("testcase")
    ] == [
        ("greet-ada", "greeting", []),
        ("histories/bob.json", "greeting", ["failure"]),
        ("cut.json", "temporal-adapter replay", ["error"]),
        ("other", "anothers", ["skipped"]),
    ]
    assert next(found.iter("testcase")).get("time") == "0.021"


def test_a_failure_says_where_and_what_temporal_says(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", [ASTRAY])

    [failure] = suite(tmp_path / "junit.xml").iter("failure")
    assert (failure.get("message"), failure.get("type")) == (TEXT, "diverges")
    assert failure.text == f"run: greet-bob r2\n{TEXT}\nTemporal: No command scheduled"


def test_what_xml_cannot_hold_is_escaped(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", [DAMAGED])

    [error] = suite(tmp_path / "junit.xml").iter("error")
    assert error.get("message") == "cut.json: it is \\x1b[31mcut\\x00"
