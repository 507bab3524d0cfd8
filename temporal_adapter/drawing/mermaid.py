"""A graph as a Mermaid flowchart: text that GitHub, GitLab, wikis and https://mermaid.live show as a drawing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from temporal_adapter import wire

from .parts import Arrow, Parts, words

_CLASSES = """\
classDef running fill:#dbeafe,stroke:#1d4ed8,color:#172554
classDef waiting fill:#fef3c7,stroke:#b45309,color:#451a03
classDef failed fill:#fee2e2,stroke:#b91c1c,color:#450a0a
classDef completed fill:#dcfce7,stroke:#15803d,color:#052e16""".splitlines()


def mermaid(progress: wire.GraphProgress) -> str:
    """Return the Mermaid text of a graph, with where the run stands: states are classes, and words in the nodes."""
    lines = ["flowchart TD", *(f"  {line}" for line in _level(progress, "n"))]
    used = {one.state for one in _executors(progress)}
    lines += [f"  {line}" for line in _CLASSES if line.split()[1] in used]
    return "\n".join(lines) + "\n"


def _level(progress: wire.GraphProgress, prefix: str) -> Iterator[str]:
    parts = Parts.of(progress)
    for place, executor in enumerate(parts.executors):
        node = f"{prefix}{place}"
        label = _quoted(executor.executor_id, words(executor))
        if executor.workflow is not None:
            yield f"subgraph {node}[{label}]"
            yield from (f"  {line}" for line in _level(executor.workflow, f"{node}_"))
            yield "end"
        elif place == parts.start:
            yield f"{node}([{label}])"
        else:
            yield f"{node}[{label}]"
        if executor.state != "idle":
            yield f"class {node} {executor.state}"
    for join in range(parts.joins):
        yield f"{prefix}{len(parts.executors) + join}(({_quoted('fan-in')}))"
    yield from (_arrow(arrow, prefix) for arrow in parts.arrows)


def _arrow(arrow: Arrow, prefix: str) -> str:
    line = "-.->" if arrow.conditional else "-->"
    label = f"|{_quoted(arrow.label)}|" if arrow.label else ""
    return f"{prefix}{arrow.source} {'<' if arrow.both else ''}{line}{label} {prefix}{arrow.target}"


def _executors(progress: wire.GraphProgress) -> Iterator[wire.ExecutorProgress]:
    for executor in progress.executors:
        yield executor
        if executor.workflow is not None:
            yield from _executors(executor.workflow)


def _quoted(*lines: str) -> str:
    """Return lines as a label. Mermaid's entity codes stand for all that it, or HTML, could read as more than text."""
    return '"' + "<br/>".join("".join(map(_plain, line)) or " " for line in lines if line or len(lines) == 1) + '"'


def _plain(char: str) -> str:
    if char.isalnum() or char in " -_.,:/()+=?!":
        return char
    if unicodedata.category(char)[0] == "C":  # control characters, lone surrogates, and marks that turn text around
        return " "
    return f"#{ord(char)};"
