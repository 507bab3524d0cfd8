"""The doors of a run: its queries, signals and updates, as people and services find them in Temporal.

Each module is a layer of the workflow class: `queries` only looks, `people` takes responses, cancellations and an
operator's retries, `sessions` takes inputs. None of them decides anything: the engine does.
"""

from .sessions import Sessions

__all__ = ["Sessions"]
