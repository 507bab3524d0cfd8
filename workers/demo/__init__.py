"""The demo: the example workflow on a real Temporal server with a real worker process, from start to approval.

    python -m workers.demo        # or: make demo
    DEMO_INTERACTIVE=1            # the person at the keyboard decides
    TEMPORAL_ADDRESS=host:port    # use that server, and start none

It leaves no process behind, however it ends; checkpoints stay below `.run/demo`.
"""
