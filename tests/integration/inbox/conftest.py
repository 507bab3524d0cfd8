"""A desk whose worker runs, the inbox over it on a port of loopback, and a browser: made once for all tests here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp
from temporalio.client import Client

from temporal_adapter import BlobStore, DurableRun, DurableWorkflow
from temporal_adapter.cli.serving import serve
from temporal_adapter.inbox import Guard, Runs, application
from temporal_adapter.inbox.paths import request_path
from tests.support import chromium
from tests.support.running import pending, serving

from .desk import Ask, build_desk

_PATIENCE = 60_000.0  # milliseconds, on a slow machine


@dataclass(frozen=True)
class Asked:
    """A request that waits, of a run that was made for it."""

    run: DurableRun
    request_id: str

    @property
    def path(self) -> str:
        return request_path(self.run.id, self.request_id)

    async def result(self) -> Any:
        """Return what the desk was answered."""
        return (await self.run.result()).get_outputs()

    async def trail(self) -> list[tuple[str, str | None, str | None]]:
        """Return the outcomes with who answered, and their comments."""
        return [(one.outcome, one.responder, one.comment) for one in await self.run.responses()]


@dataclass(frozen=True)
class Desk:
    """Starts runs that ask."""

    workflow: DurableWorkflow

    async def ask(self, kind: str, text: str = "Shall we?", details: Any = None, *, id: str = "") -> Asked:
        run = await self.workflow.start(
            Ask(kind=kind, text=text, details=details), id=f"{id or kind}-{uuid4().hex[:8]}"
        )
        [request] = await pending(run)
        return Asked(run, request.request_id)


@pytest.fixture(scope="session")
def desk_store() -> BlobStore:
    return BlobStore("memory://")


@pytest.fixture(scope="session")
async def desk(client: Client, desk_store: BlobStore) -> AsyncIterator[Desk]:
    async with serving(client, f"desk-{uuid4().hex[:8]}", build_desk, store=desk_store) as workflow:
        yield Desk(workflow)


@asynccontextmanager
async def served(app: ASGIApp) -> AsyncIterator[str]:
    """Serves an application on a port of loopback; yields its address, such as `http://127.0.0.1:4711`."""
    address = asyncio.get_running_loop().create_future()
    serving_it = asyncio.ensure_future(serve(app, "127.0.0.1", 0, address.set_result))
    yield await address
    serving_it.cancel()
    await serving_it


@pytest.fixture(scope="session")
async def inbox(client: Client, desk_store: BlobStore) -> AsyncIterator[str]:
    """The address of an inbox."""
    async with served(application(Runs(client, desk_store), Guard())) as address:
        yield address


@pytest.fixture(scope="session")
async def other_site() -> AsyncIterator[str]:
    """The address of another site's page, which has nothing on it."""
    async with served(HTMLResponse("<!doctype html><title>Another site</title><body></body>")) as address:
        yield address.replace("127.0.0.1", "localhost")


@pytest.fixture
async def http(inbox: str) -> AsyncIterator[httpx.AsyncClient]:
    """A program that uses the inbox."""
    async with httpx.AsyncClient(base_url=inbox, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium.browser() as browser:
        yield browser


@dataclass
class Person:
    """Somebody at a browser of their own. What the browser complains about fails the test."""

    page: Page
    address: str
    complaints: list[str]

    async def open(self, path: str) -> None:
        await self.page.goto(self.address + path)

    async def reads(self, selector: str, *texts: str) -> None:
        """Wait until what a selector finds has these texts in it."""
        for text in texts:
            await expect(self.page.locator(selector)).to_contain_text(text, timeout=_PATIENCE)

    async def text(self, selector: str) -> str:
        """Return the text of what a selector finds, once it is there."""
        return await self.page.locator(selector).inner_text()


@pytest.fixture
async def people(browser: Browser, inbox: str) -> AsyncIterator[Any]:
    """Opens browsers of people: `await people()`, with the options of Playwright's `new_context`."""
    contexts: list[BrowserContext] = []
    everybody: list[Person] = []

    async def somebody(**options: Any) -> Person:
        context = await browser.new_context(**options)
        context.set_default_timeout(_PATIENCE)
        contexts.append(context)
        person = Person(await context.new_page(), inbox, [])
        person.page.on("pageerror", lambda error: person.complaints.append(str(error)))
        person.page.on("dialog", lambda dialog: person.complaints.append(f"a dialog: {dialog.message}"))
        person.page.on("console", lambda line: person.complaints.append(line.text) if _is_complaint(line) else None)
        everybody.append(person)
        return person

    yield somebody
    for context in contexts:
        await context.close()
    assert [complaint for person in everybody for complaint in person.complaints] == []


def _is_complaint(line: Any) -> bool:
    # A refusal is an answer of the 400s, which the browser notes.
    return line.type in ("error", "warning") and "the server responded with a status of 4" not in line.text
