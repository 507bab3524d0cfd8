"""Who may ask the inbox for anything: the checks before every page and every call of the JSON API.

    who      beyond loopback, a token or the header of a proxy that has authenticated the person
    whence   a name that this server has (else a page of any site could point its own name here: DNS rebinding), and,
             for whatever changes something, a page of this server itself
    how much a bounded body

and the headers with every answer. Nothing here knows what a request is.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEAST_TOKEN = 16
"""Characters that a token has at least."""

MOST_BODY = 2 * 1024 * 1024
"""Bytes that a body has at most: as much as Temporal takes in one payload."""

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_LOOPBACK_NAMES = ("localhost",)

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Not no-referrer: with it browsers say of a form's post that it comes from nowhere.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Unguarded(ValueError):
    """Such a server would let in anybody; says what is needed."""


@dataclass(frozen=True)
class Guard:
    """The rules of one server.

    Attributes:
        host: The address that the server listens at.
        token: What a request has to bring, as bearer token, or as password in a browser's own dialogue.
        user_header: The header by which a proxy says who the person is.
        names: Further host names by which the server is reached.

    Raises:
        Unguarded: Beyond loopback, without a token and a header.
    """

    host: str = "127.0.0.1"
    token: str | None = field(default=None, repr=False)
    user_header: str | None = None
    names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < LEAST_TOKEN:
            raise Unguarded(f"The token must have {LEAST_TOKEN} characters at least, so that it cannot be guessed.")
        if not self.is_loopback and self.token is None and self.user_header is None:
            raise Unguarded(
                f"Whoever reaches {self.host} could answer in anybody's name. Give a token "
                "(TEMPORAL_ADAPTER_INBOX_TOKEN or --token), or the header by which a proxy that authenticates people "
                "names them (--user-header); or "
                "listen at 127.0.0.1."
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the server."""
        return is_loopback(self.host)

    def knows(self, host: str) -> bool:
        """Return whether a `Host` header names this server. An address cannot be another's name for it."""
        name = _name(host)
        if name in _LOOPBACK_NAMES or name in self.names or name == self.host.lower():
            return True
        if _is_address(name):
            return is_loopback(name) or not self.is_loopback
        return not self.is_loopback and name == socket.gethostname().lower()


def is_loopback(host: str) -> bool:
    """Return whether an address or name is this machine's alone."""
    return host in _LOOPBACK_NAMES or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


class Guarded:
    """An ASGI application behind the checks.

    It finds in its scope's `state` the `person` that the proxy names, and the `typed_name`, which nobody has checked.
    """

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        person = _person(headers, self._guard.user_header)
        scope = {**scope, "state": {**scope.get("state", {}), "person": person, "typed_name": _user_name(headers)}}
        body = await _body(receive, headers)
        if body is None:
            await _refused(413, f"A request has {MOST_BODY} bytes at most.")(scope, receive, send_with_headers)
            return
        await self._app(scope, _replayed(body, receive), send_with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        guard = self._guard
        host = _one(headers, "host")
        if host is None or not guard.knows(host):
            return _refused(421, f"This inbox is not known as {host!r}. Start it with --allowed-host if it is to be.")
        if guard.token is not None and not _brings(guard.token, headers):
            refused = _refused(401, "A token is needed: as bearer token, or as password of any user name.")
            refused.headers["WWW-Authenticate"] = 'Basic realm="Approvals inbox", charset="UTF-8"'
            return refused
        if guard.user_header is not None and not _person(headers, guard.user_header):
            return _refused(401, f"The proxy has not said who you are: there is no {guard.user_header} header.")
        if scope["method"] not in _SAFE_METHODS and not _is_own(headers, host):
            return _refused(403, "This was sent from a page of another site, and nothing was done.")
        return None


def _is_own(headers: Headers, host: str) -> bool:
    """Return whether what changes something comes from a page of this server, or from a program that is no browser."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    # The scheme is left out: it is the proxy's where one ends TLS.
    return origin is None or origin.partition("://")[2].lower() == host.lower()


def _brings(token: str, headers: Headers) -> bool:
    kind, _, given = (_one(headers, "authorization") or "").partition(" ")
    if kind.lower() == "bearer":
        return hmac.compare_digest(given.strip().encode("latin-1"), token.encode())
    if kind.lower() == "basic":
        return hmac.compare_digest(_basic(given)[1].encode(), token.encode())
    return False


def _person(headers: Headers, user_header: str | None) -> str | None:
    """Return who the proxy says the person is."""
    name = None if user_header is None else _one(headers, user_header)
    try:
        return name and name.encode("latin-1").decode().strip()
    except UnicodeDecodeError:  # it is not UTF-8
        return name


def _user_name(headers: Headers) -> str:
    """Return the user name that was typed with the token: nobody has checked it."""
    kind, _, given = (_one(headers, "authorization") or "").partition(" ")
    return _basic(given)[0] if kind.lower() == "basic" else ""


def _basic(given: str) -> tuple[str, str]:
    try:
        name, _, password = base64.b64decode(given, validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return name, password


def _one(headers: Headers, name: str) -> str | None:
    """Return a header that came once; where it came twice, one of them may be a stranger's."""
    found = headers.getlist(name)
    return found[0] if len(found) == 1 else None


def _refused(status: int, reason: str) -> Response:
    return PlainTextResponse(f"{reason}\n", status)


async def _body(receive: Receive, headers: Headers) -> bytes | None:
    """Return the whole body; None of one that is too long."""
    told = headers.get("content-length", "0")
    if not told.isdecimal() or int(told) > MOST_BODY:
        return None
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BODY:
            return None
        more = message.get("more_body", False)
    return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting = [body]

    async def again() -> Message:
        return {"type": "http.request", "body": waiting.pop(), "more_body": False} if waiting else await receive()

    return again


def _name(host: str) -> str:
    """Return a `Host` header without its port."""
    host = host.strip().lower()
    if host.startswith("[") and "]" in host:
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def names_of(hosts: Iterable[str]) -> frozenset[str]:
    """Return host names as they are compared."""
    return frozenset(_name(host) for host in hosts)
