"""DevUI over a drop-in, in a process of its own: it turns tracing on for the whole process that it is in.

Run with: address, namespace, task queue, store, session id, port.
"""

from __future__ import annotations

import sys

import uvicorn
from agent_framework_devui import DevServer
from temporalio.client import Client

from temporal_adapter import durable, process

from .support_desk import desk


async def main(address: str, namespace: str, task_queue: str, store: str, session_id: str, port: str) -> None:
    client = await Client.connect(address, namespace=namespace)
    workflow = durable(desk(), client, task_queue=task_queue, session_id=session_id, checkpoint_store=store)
    server = DevServer(ui_enabled=False, auth_enabled=False)
    server.register_entities([workflow])
    await uvicorn.Server(uvicorn.Config(server.get_app(), host="127.0.0.1", port=int(port))).serve()


if __name__ == "__main__":
    process.serve(main(*sys.argv[1:]))
