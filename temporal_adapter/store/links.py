"""Which runs are links of one run that went on as new Temporal runs, by their entries. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from temporal_adapter import wire

Link = tuple[str, str]
"""A Temporal run: workflow id and run id."""


def links_after(entries: Iterable[wire.RunEntry]) -> dict[Link, wire.RunEntry]:
    """Return the entry of the link that went on from another, by that other."""
    return {(one.workflow_id, one.continued.run_id): one for one in entries if one.continued is not None}


def last_link(link: Link, after: Mapping[Link, wire.RunEntry]) -> Link:
    """Return the last link of a run that is known of. By what each went on from, not by time: clocks differ."""
    passed = {link}
    while (following := after.get(link)) is not None and (following.workflow_id, following.run_id) not in passed:
        link = following.workflow_id, following.run_id
        passed.add(link)
    return link
