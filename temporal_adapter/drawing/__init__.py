"""Drawings of a graph, with where a run stands in it: Mermaid as text, and SVG.

Functions of the answer of the query `graph`; nothing here asks a run, builds a workflow, or writes a file. Names of
executors come from users: in a drawing they are text, whatever is in them.
"""

from .layout import NotDrawn
from .mermaid import mermaid
from .parts import unstarted, words
from .svg import svg

__all__ = ["NotDrawn", "mermaid", "svg", "unstarted", "words"]
