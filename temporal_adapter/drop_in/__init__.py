"""A MAF `Workflow` whose runs are turns of a Temporal session, for code that expects a `Workflow`.

    workflow = durable(build_support(), client, task_queue="support", session_id="ticket-42")
    result = await workflow.run("My parcel is lost.")

The object has MAF's graph, and MAF's own `run`, with its rules, errors and streams; only what would run supersteps in
this process asks a session for a turn. So `as_agent()`, AG-UI and DevUI find what they read of a workflow, down to its
private parts. Nothing about how a turn is made belongs here: that is `client`'s.
"""

from .agent import SessionAgent
from .workflow import SessionWorkflow, durable

__all__ = ["SessionAgent", "SessionWorkflow", "durable"]
