"""Who may ask the inbox for anything, from where, and how much."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from temporal_adapter.inbox.guard import MOST_BODY, Guard, Guarded, Unguarded, names_of

TOKEN = "a-token-that-is-long-enough"


async def _behind(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    state: dict[str, Any] = scope["state"]
    body = await request.body()
    await JSONResponse({"person": state["person"], "typed_name": state["typed_name"], "body": len(body)})(
        scope, receive, send
    )


async def ask(
    guard: Guard, method: str = "GET", *, host: str = "localhost:8240", body: Any = b"", **headers: str | bytes
) -> Any:
    """Ask what is behind a guard; header names are in Python's way."""
    sent: Any = [("host", host), *((name.replace("_", "-"), value) for name, value in headers.items())]
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(Guarded(_behind, guard)), base_url="http://any"
    ) as client:
        return await client.request(method, "/", headers=sent, content=body)


def basic(name: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


# --- starting -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "inbox.example.com"])
def test_beyond_loopback_it_does_not_start_without_saying_who_may_in(host: str) -> None:
    with pytest.raises(Unguarded, match=r"TEMPORAL_ADAPTER_INBOX_TOKEN.*--user-header"):
        Guard(host=host)
    Guard(host=host, token=TOKEN)
    Guard(host=host, user_header="X-Forwarded-User")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_at_loopback_it_starts_as_it_is(host: str) -> None:
    assert Guard(host=host).is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_that_could_be_guessed_is_none(host: str) -> None:
    with pytest.raises(Unguarded, match="16 characters"):
        Guard(host=host, token="secret")


# --- names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8240", "127.0.0.1:1", "[::1]:8240", "approvals.example.com:443"]
)
async def test_its_own_names_are_answered(host: str) -> None:
    answer = await ask(Guard(names=names_of(["Approvals.example.com:443"])), host=host)
    assert answer.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.nip.io", "", "[::1"])
async def test_a_name_that_anybody_may_have_given_this_address_is_not_answered(host: str) -> None:
    answer = await ask(Guard(), host=host)
    assert answer.status_code == 421
    assert "--allowed-host" in answer.text


async def test_beyond_loopback_an_address_is_a_name_of_its_own() -> None:
    guard = Guard(host="0.0.0.0", token=TOKEN)
    assert (await ask(guard, host="192.168.1.7:8240", authorization=f"Bearer {TOKEN}")).status_code == 200
    assert (await ask(guard, host="evil.example", authorization=f"Bearer {TOKEN}")).status_code == 421


# --- people -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authorization", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic("Ada", TOKEN), basic("", TOKEN)])
async def test_who_brings_the_token_is_let_in(authorization: str) -> None:
    assert (await ask(Guard(token=TOKEN), authorization=authorization)).status_code == 200


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Token {TOKEN}",
        basic(TOKEN, ""),
        "Basic !",
        "Basic /w==",
    ],
)
async def test_who_does_not_is_asked_for_it(authorization: str) -> None:
    answer = await ask(Guard(token=TOKEN), authorization=authorization)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic ")


async def test_the_name_typed_with_the_token_is_handed_on_as_one_that_nobody_checked() -> None:
    answer = await ask(Guard(token=TOKEN), authorization=basic("Ada", TOKEN))
    assert answer.json() == {"person": None, "typed_name": "Ada", "body": 0}


async def test_whom_the_proxy_names_is_the_person() -> None:
    guard = Guard(user_header="X-Forwarded-User")
    answer = await ask(guard, x_forwarded_user="Zoë".encode())
    assert answer.json()["person"] == "Zoë"


@pytest.mark.parametrize("name", [None, "", "  "])
async def test_without_a_name_from_the_proxy_nobody_is_let_in(name: str | None) -> None:
    headers = {} if name is None else {"x_forwarded_user": name}
    assert (await ask(Guard(user_header="X-Forwarded-User"), **headers)).status_code == 401


async def test_two_names_are_none_for_one_may_be_a_strangers() -> None:
    headers = [("host", "localhost"), ("x-forwarded-user", "Ada"), ("x-forwarded-user", "Eve")]
    guarded = Guarded(_behind, Guard(user_header="X-Forwarded-User"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(guarded), base_url="http://any") as client:
        assert (await client.get("/", headers=headers)).status_code == 401


async def test_without_a_header_to_trust_a_name_in_one_is_not_read() -> None:
    assert (await ask(Guard(), x_forwarded_user="Eve")).json()["person"] is None


async def test_a_guard_that_has_both_wants_both() -> None:
    guard = Guard(token=TOKEN, user_header="X-Forwarded-User")
    assert (await ask(guard, x_forwarded_user="Ada")).status_code == 401
    assert (await ask(guard, authorization=f"Bearer {TOKEN}")).status_code == 401
    assert (await ask(guard, authorization=f"Bearer {TOKEN}", x_forwarded_user="Ada")).status_code == 200


# --- other sites --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9999"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "same-origin", "origin": "https://evil.example"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_what_a_page_of_another_site_sends_is_refused(method: str, headers: dict[str, str]) -> None:
    answer = await ask(Guard(), method, **headers)
    assert answer.status_code == 403
    assert "another site" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://localhost:8240"},
        {"origin": "https://localhost:8240"},  # a proxy before it ends TLS
        {"origin": "http://localhost:8240", "sec_fetch_site": "same-origin"},
    ],
)
async def test_what_its_own_page_or_a_program_sends_is_taken(headers: dict[str, str]) -> None:
    assert (await ask(Guard(), "POST", body=b"1234", **headers)).json()["body"] == 4


async def test_a_link_from_anywhere_may_be_followed() -> None:
    assert (await ask(Guard(), sec_fetch_site="cross-site")).status_code == 200


# --- answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("host", "status"), [("localhost", 200), ("evil.example", 421)])
async def test_every_answer_tells_the_browser_what_not_to_do_with_it(host: str, status: int) -> None:
    answer = await ask(Guard(), host=host)
    assert answer.status_code == status
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


async def test_a_body_is_bounded_whether_or_not_it_tells_its_length() -> None:
    async def parts() -> Any:
        for _ in range(MOST_BODY // 65536 + 1):
            yield b"x" * 65536

    assert (await ask(Guard(), "POST", body=b"x" * MOST_BODY)).json()["body"] == MOST_BODY
    assert (await ask(Guard(), "POST", body=b"x" * (MOST_BODY + 1))).status_code == 413
    assert (await ask(Guard(), "POST", body=parts())).status_code == 413
