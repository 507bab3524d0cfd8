"""A pytest plugin (`-p tests.support.each_chance`): runs go on as new Temporal runs at every chance they have."""

from temporal_adapter.host import context

context.DEFAULT_CONTINUES_AFTER = 1
