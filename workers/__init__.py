"""Runnable programs: workers, the demo and the example workflows they serve.

Depends on `temporal_adapter`; never the other way round. Nothing here is part of the library's API.
"""
