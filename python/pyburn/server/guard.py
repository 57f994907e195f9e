"""Security checks before a request reaches the application. Plain ASGI, without HTTP libraries."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from .limits import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS = ("GET", "HEAD", "POST")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?")
_DRAIN_SECONDS = 1.0
# For responses that are not pages. A page has its own policy.
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class Refused(Exception):
    """The request is rejected."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _ClientLeft(Exception):
    """The connection was closed before the body was complete."""


class Guard:
    """Wraps an ASGI application with the checks of docs/servers.md.

    The body is read completely before the application runs. A connection with a rejected request is closed, so that no byte of its body
    is taken for the next request.
    """

    def __init__(self, app: App, *, hosts: frozenset[str] | None, token: str | None, cookie: str, limits: Limits) -> None:
        self.app, self.hosts, self.token, self.cookie, self.limits = app, hosts, token, cookie, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope["headers"])
        try:
            has_body = self._check_framing(scope, headers)
            host = self._check_host(headers)
            _check_origin(scope["method"], headers, host)
            from_query = self._check_token(scope, headers)
            if has_body:
                receive = await self._whole_body(receive)
        except Refused as refused:
            await self._refuse(refused, headers, receive, send)
        except _ClientLeft:
            return
        else:
            cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/" if from_query else None
            await self.app(scope, receive, _with_headers(send, cookie))

    def _check_framing(self, scope: Scope, headers: Headers) -> bool:
        """Rejects requests that two HTTP parsers could read differently (request smuggling). Returns whether there is a body."""
        size = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["raw_path"]) + len(scope["query_string"])
        if size > self.limits.head_bytes:  # h11 only limits headers that arrive in pieces
            raise Refused(431, f"the address and the headers of a request have at most {self.limits.head_bytes} bytes")
        if scope["method"] not in METHODS:
            raise Refused(405, f"the methods are {', '.join(METHODS)}")
        if not scope["path"].startswith("/"):
            raise Refused(400, "the target of a request must be a path")
        lengths, encodings = headers.all("content-length"), headers.all("transfer-encoding")
        if encodings and (lengths or scope["http_version"] == "1.0"):
            raise Refused(400, "a request has a Content-Length, or in HTTP/1.1 a Transfer-Encoding, and not both")
        if headers.all("upgrade"):
            raise Refused(400, "this server speaks HTTP/1.1 only")
        length = int(lengths[0]) if lengths else 0
        if scope["method"] != "POST" and (encodings or length):
            raise Refused(400, f"a {scope['method']} request has no body")
        if length > self.limits.body_bytes:
            raise Refused(413, f"the body of a request has at most {self.limits.body_bytes} bytes: got {length}")
        return bool(encodings or length)

    def _check_host(self, headers: Headers) -> str:
        """Rejects foreign host names, since another site may resolve its name to this machine (DNS rebinding)."""
        found = headers.all("host")
        host = found[0].lower() if len(found) == 1 else ""
        match = _HOST.fullmatch(host)
        if match is None:
            raise Refused(400, "a request names one host")
        if self.hosts is not None and match[1] not in self.hosts:
            raise Refused(403, "this name is not one of the server's")
        return host

    def _check_token(self, scope: Scope, headers: Headers) -> bool:
        """Checks the token. Returns whether it was in the query string, in which case a cookie replaces it."""
        if self.token is None:
            return False
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if self._is_token(query.get("token", [""])[-1]):
            return True
        scheme, _, bearer = " ".join(headers.all("authorization")).partition(" ")
        if (scheme.lower() == "bearer" and self._is_token(bearer.strip())) or self._is_token(self._cookie_of(headers)):
            return False
        raise Refused(401, "this server asks for its token: open the address that it printed")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), (self.token or "").encode())

    def _cookie_of(self, headers: Headers) -> str:
        try:
            found = SimpleCookie("; ".join(headers.all("cookie"))).get(self.cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    async def _whole_body(self, receive: Receive) -> Receive:
        try:
            body = await asyncio.wait_for(_read(receive, self.limits.body_bytes), self.limits.body_seconds)
        except (asyncio.TimeoutError, TimeoutError):
            raise Refused(408, f"the body of the request did not arrive within {self.limits.body_seconds:g} s") from None
        given = False

        async def once() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return once

    async def _refuse(self, refused: Refused, headers: Headers, receive: Receive, send: Send) -> None:
        # Closing a socket while data arrives resets the connection, and the client might not receive the response. A client that sends
        # "Expect: 100-continue" sends no body.
        if not headers.all("expect"):
            with contextlib.suppress(asyncio.TimeoutError, TimeoutError, Refused, _ClientLeft):
                await asyncio.wait_for(_read(receive, self.limits.body_bytes), _DRAIN_SECONDS)
        text = f"{refused}\n".encode()
        fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text)), (b"connection", b"close")]
        if refused.status == 405:
            fields.append((b"allow", ", ".join(METHODS).encode()))
        send = _with_headers(send, None)
        await send({"type": "http.response.start", "status": refused.status, "headers": fields})
        await send({"type": "http.response.body", "body": text})


class Headers:
    """The headers of a request, by name."""

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self._found: dict[str, list[str]] = {}
        for name, value in pairs:
            self._found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def all(self, name: str) -> list[str]:
        """Returns all values of a header."""
        return self._found.get(name, [])


def _check_origin(method: str, headers: Headers, host: str) -> None:
    """Rejects requests from pages of other origins. Clients that are not browsers send neither header."""
    for origin in headers.all("origin"):
        scheme, _, name = origin.lower().partition("://")
        if scheme not in ("http", "https") or name != host:
            raise Refused(403, "a page of another origin may not ask")
    for site in headers.all("sec-fetch-site"):
        follows_link = method == "GET" and headers.all("sec-fetch-mode") == ["navigate"] and headers.all("sec-fetch-dest") == ["document"]
        if site not in ("same-origin", "none") and not follows_link:
            raise Refused(403, "a page of another origin may not ask")


async def _read(receive: Receive, most: int) -> bytes:
    """The body of a request."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientLeft
        body += message.get("body", b"")
        if len(body) > most:
            raise Refused(413, f"the body of a request has at most {most} bytes")
        more = message.get("more_body", False)
    return bytes(body)


def _with_headers(send: Send, cookie: str | None) -> Send:
    """Adds the headers of `_HEADERS` to a response unless the application has set them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            fields = list(message.get("headers", []))
            known = {bytes(name).lower() for name, _ in fields}
            fields += [(name, value) for name, value in _HEADERS.items() if name not in known]
            if cookie is not None:
                fields.append((b"set-cookie", cookie.encode()))
            message = {**message, "headers": fields}
        await send(message)

    return sending
