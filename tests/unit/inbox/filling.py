"""A browser's part in a form, without a browser: what it would send of a form's HTML as it stands."""

from __future__ import annotations

from html.parser import HTMLParser

from temporal_adapter.inbox.forms import Form
from temporal_adapter.inbox.rendering import environment

_FORM = environment().from_string(
    '{% from "_fields.html" import fields with context %}{{ fields(form, form.place, ROOT, "") }}'
)


def html_of(form: Form) -> str:
    """Return the HTML of a form's fields."""
    return _FORM.render(form=form)


def sent_by(html: str) -> dict[str, str]:
    """Return what a browser sends of fields that nobody touched: the successful controls, without buttons."""
    reading = _Reading()
    reading.feed(html)
    reading.close()
    return reading.fields


class _Reading(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.tags: list[str] = []
        self._area: str | None = None
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = {name: value or "" for name, value in attrs}
        if tag == "input" and (found.get("type") not in ("radio", "checkbox") or "checked" in found):
            self.fields[found["name"]] = found.get("value", "on")
        elif tag == "select":
            self._select = found["name"]
        elif tag == "option" and ("selected" in found or self._select not in self.fields):
            self.fields[self._select] = found.get("value", "")
        elif tag == "textarea":
            self._area = found["name"]
            self.fields[self._area] = ""

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            self.fields[self._area] = self.fields[self._area].removeprefix("\n").replace("\n", "\r\n")
            self._area = None
