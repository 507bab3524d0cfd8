"""What a person typed on a request's page, as it is kept while the page is shown again."""

from __future__ import annotations

from dataclasses import dataclass

from .forms import Form


@dataclass(frozen=True)
class Given:
    """What a person typed on a request's page.

    Attributes:
        form: The response.
        as_json: Whether the response is typed as JSON, in spite of there being a form.
        responder: Who answers.
        comment: Why.
        named: Whether the proxy said who answers, so that it cannot be changed.
    """

    form: Form
    as_json: bool = False
    responder: str = ""
    comment: str = ""
    named: bool = False
