"""What an attempt did to a graph's objects is undone before the graph serves again."""

from __future__ import annotations

import collections
import threading
from typing import Any

import pytest
from agent_framework import BaseChatClient, Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from pydantic import BaseModel

from temporal_adapter.attributes import FRAMEWORK_ATTRIBUTES
from temporal_adapter.pool import GraphPool
from temporal_adapter.pristine import Pristine
from temporal_adapter.values import EncodeError
from tests.support.chat import ScriptedChat, agent, telling


class Ledger:
    """Something of the user's own that has no readable form."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value


class Model(BaseModel):
    names: list[str] = []


class Keeps(Executor):
    def __init__(self, id: str, **held: Any) -> None:
        super().__init__(id=id)
        vars(self).update(held)

    @handler
    async def handle(self, value: int, ctx: WorkflowContext[int]) -> None: ...


def pristine(executor: Executor, *shared: Any) -> Pristine:
    return Pristine([executor], FRAMEWORK_ATTRIBUTES, shared=shared)


def test_attributes_that_were_added_changed_or_deleted_are_as_before() -> None:
    executor: Any = Keeps("one", number=1, gone="here")
    remembered = pristine(executor)

    executor.number, executor.added = 2, "new"
    del executor.gone
    remembered.put_back()

    assert (executor.number, executor.gone) == (1, "here")
    assert not hasattr(executor, "added")


def test_containers_are_refilled_where_they_are_so_that_others_still_hold_them() -> None:
    inner: list[int] = [1]
    executor: Any = Keeps("one", items=[inner], names={"a": inner}, seen={1}, last=collections.deque([1], maxlen=2))
    remembered = pristine(executor)

    inner.append(2)
    executor.items.append([3])
    executor.names["b"] = inner
    executor.seen.add(2)
    executor.last.append(5)
    remembered.put_back()

    assert executor.items == [[1]]
    assert executor.items[0] is executor.names["a"] is inner
    assert (list(executor.names), executor.seen, list(executor.last)) == (["a"], {1}, [1])


def test_objects_of_the_graphs_own_packages_are_put_back_at_every_depth() -> None:
    executor: Any = Keeps("one", ledger=Ledger(), slotted=Slotted(1), model=Model(names=["a"]))
    remembered = pristine(executor)

    executor.ledger.entries.append("leaked")
    executor.ledger.counts["leaked"] += 1
    executor.ledger.extra = True
    executor.slotted.value = 2
    executor.model.names.append("b")
    remembered.put_back()

    assert (executor.ledger.entries, dict(executor.ledger.counts)) == ([], {})
    assert not hasattr(executor.ledger, "extra")
    assert executor.slotted.value == 1
    assert executor.model.names == ["a"]


def test_what_refers_to_itself_is_no_trouble() -> None:
    ring: list[Any] = []
    ring.append(ring)
    executor: Any = Keeps("one", ring=ring)
    remembered = pristine(executor)

    ring.append(1)
    remembered.put_back()

    assert len(ring) == 1


def test_chat_clients_and_objects_of_libraries_are_left_alone() -> None:
    client: Any = ScriptedChat(telling("x"))
    connection: Any = threading.local()
    executor: Any = Keeps("one", client=client, connection=connection)
    assert isinstance(client, BaseChatClient)
    remembered = pristine(executor)

    client.requests = connection.open = 7
    remembered.put_back()

    assert client.requests == connection.open == 7


async def test_what_two_builds_share_belongs_to_the_process() -> None:
    cache: dict[str, int] = {}

    def build() -> Workflow:
        return WorkflowBuilder(name="caching", start_executor=Keeps("one", cache=cache, own={})).build()

    pool = GraphPool(build)
    async with pool.borrow() as graph:
        executor: Any = graph.executor("one")
        executor.cache["kept"] = executor.own["dropped"] = 1

    assert cache == {"kept": 1}
    async with pool.borrow() as again:
        assert again is graph
        assert executor.own == {}


async def test_an_attribute_that_is_set_back_to_what_it_was_built_with_is_so_in_the_next_attempt_too() -> None:
    pool = GraphPool(lambda: WorkflowBuilder(name="resetting", start_executor=Keeps("one", heard=[])).build())
    async with pool.borrow() as graph:
        executor: Any = graph.executor("one")
        executor.heard.append("something")
        recorded = graph.attributes["one"].changes()
    async with pool.borrow() as graph:
        executor = graph.executor("one")
        graph.attributes["one"].restore(recorded)
        assert executor.heard == ["something"]
        executor.heard = []
        recorded = graph.attributes["one"].changes()

    assert recorded == {"changed": {}, "deleted": []}


async def test_an_object_that_cannot_travel_and_was_changed_in_place_is_an_error_that_names_it() -> None:
    pool = GraphPool(lambda: WorkflowBuilder(name="ledgers", start_executor=Keeps("one", ledger=Ledger())).build())
    async with pool.borrow() as graph:
        assert graph.attributes["one"].changes() is None
        executor: Any = graph.executor("one")
        executor.ledger.entries.append("counted")
        with pytest.raises(EncodeError, match=r"ledger: the handler changed this Ledger in place.*types="):
            graph.attributes["one"].changes()


async def test_an_agent_that_changes_when_it_first_runs_is_none() -> None:
    pool = GraphPool(lambda: WorkflowBuilder(name="asks", start_executor=Keeps("one", agent=agent("helper"))).build())
    async with pool.borrow() as graph:
        executor: Any = graph.executor("one")
        await executor.agent.run("hello", session=executor.agent.create_session())

        assert graph.attributes["one"].changes() is None
