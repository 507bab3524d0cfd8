"""Forms for responses, from the JSON schema of a response's type; and the JSON that a filled form stands for.

A form holds what was typed as text, so that nothing of it is lost when it is shown again. Whether a response fits its
type is not judged here: the run does that, with MAF's rules. Here is only said what cannot be JSON at all.
"""

from .form import Form, Mistyped, empty_form, filled_form
from .nodes import Node
from .schema import node_of

__all__ = ["Form", "Mistyped", "Node", "empty_form", "filled_form", "node_of"]
