"""The server of the dashboard: Python's own, on this machine only unless told otherwise, and with a token if so."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ..train.run.scalar_files import json_number
from .answers import Answers, NotFoundError

ASSETS = Path(__file__).parent / "assets"
PORT = 6007
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_LARGEST_REQUEST = 1 << 20
_COOKIE = "pyburn_token"
_POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def finite(value: Any) -> Any:
    """The same with numbers that JSON does not have as text, which JavaScript's Number() reads."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return json_number(value) if isinstance(value, float) else value


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answers: Answers
    token: str | None
    hosts: frozenset[str] | None  # names by which a browser may ask; None: any, the token guards


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, make: Callable[[str, dict[str, str]], None]) -> None:
        parts = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        try:
            if not self._host_is_ours():
                self._send(403, b"this name is not one of the dashboard's", "text/plain")
            elif not self._is_known(query):
                self._send(401, b"the dashboard asks for its token: open the address that it printed", "text/plain")
            else:
                make(unquote(parts.path), query)
        except NotFoundError as error:
            self._send(404, str(error).encode(), "text/plain; charset=utf-8")
        except (ValueError, TypeError, KeyError) as error:
            self._send(400, str(error).encode(), "text/plain; charset=utf-8")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _host_is_ours(self) -> bool:
        # A page of another site may point its own name at this machine: its requests then carry that name.
        name = self.headers.get("Host", "").rsplit(":", 1)[0] if not self.headers.get("Host", "").endswith("]") else self.headers["Host"]
        return self.server.hosts is None or name.lower() in self.server.hosts

    def _is_known(self, query: dict[str, str]) -> bool:
        token = self.server.token
        if token is None:
            return True
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(_COOKIE)
        except CookieError:
            cookie = None
        shown = query.get("token") or (cookie.value if cookie else "")
        return hmac.compare_digest(shown.encode(), token.encode())

    def _get(self, path: str, query: dict[str, str]) -> None:
        answers = self.server.answers
        if path == "/api/runs":
            self._json(answers.runs())
        elif path == "/api/run":
            self._json(answers.run(query.get("id", "")))
        elif path == "/api/image":
            self._send(200, answers.image(query.get("id", ""), query.get("name", "")), "image/png")
        else:
            self._asset("index.html" if path == "/" else path.removeprefix("/"), query)

    def _post(self, path: str, query: dict[str, str]) -> None:
        # Only a page of ours can send JSON with this header: another site would have to ask first, and is refused.
        if self.headers.get("X-Pyburn") != "1":
            raise ValueError("a request must come from the dashboard's own page")
        length = int(self.headers.get("Content-Length", "0"))
        if not 0 <= length <= _LARGEST_REQUEST:
            self.close_connection = True
            raise ValueError("the request is too large")
        request = json.loads(self.rfile.read(length) or b"{}")
        if not isinstance(request, dict):
            raise ValueError("a request is an object")
        if path == "/api/curves":
            self._send(200, self.server.answers.curves(request), "application/octet-stream")
        elif path == "/api/stop":
            self.server.answers.stop(str(request.get("id", "")))
            self._json({"stopping": True})
        else:
            raise NotFoundError(f"there is nothing at {path}")

    def _asset(self, name: str, query: dict[str, str]) -> None:
        file = ASSETS / name
        if name not in {found.name for found in ASSETS.iterdir()} or file.suffix not in _TYPES:
            raise NotFoundError(f"there is nothing at /{name}")
        headers = {"Cache-Control": "no-cache"}
        if self.server.token is not None and "token" in query:
            headers["Set-Cookie"] = f"{_COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
        self._send(200, file.read_bytes(), f"{_TYPES[file.suffix]}; charset=utf-8", headers)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(finite(value), allow_nan=False, default=str).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        mark = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        if status == 200 and self.command == "GET" and self.headers.get("If-None-Match") == mark:
            status, body = 304, b""
        packed = len(body) > 1000 and kind.startswith(("text", "application/json")) and "gzip" in self.headers.get("Accept-Encoding", "")
        if packed:
            body = gzip.compress(body, 1)
        self.send_response(status)
        for key, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "ETag": mark,
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            **({"Content-Encoding": "gzip"} if packed else {}),
            **(headers or {}),
        }.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)


class Dashboard:
    """A dashboard that serves a folder of runs from a thread of its own, until it is closed.

    On another address than this machine's own it asks for a token, which `url` contains.

    >>> with pyburn.dashboard.Dashboard("runs", port=0) as dashboard:
    ...     print(dashboard.url.startswith("http://127.0.0.1:"))
    True
    """

    def __init__(
        self, folder: str | os.PathLike[str] = "runs", *, host: str = "127.0.0.1", port: int = PORT, token: str | None = None
    ) -> None:
        root = Path(folder).resolve()
        local = is_loopback(host)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = type("_Server", (_Server,), {"address_family": family})((host, port), _Handler)
        self._server.answers = Answers(root)
        self._server.token = token or (None if local else secrets.token_urlsafe(18))
        self._server.hosts = frozenset({"localhost", "127.0.0.1", "[::1]", host.lower()}) if local else None
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True, name="pyburn dashboard"
        )
        self._thread.start()
        self.folder = root
        self.host, self.port = host, int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """What to open in a browser."""
        name = socket.gethostname() if self.host in ("0.0.0.0", "::") else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/" + (f"?token={self._server.token}" if self._server.token else "")

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def serve(
    folder: str | os.PathLike[str] = "runs",
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    open_browser: bool = False,
) -> None:
    """Serves a folder of runs until Ctrl-C: `pyburn dashboard`. A port that is taken gives way to a free one."""
    if not Path(folder).is_dir():
        print(f"There is no folder {os.fspath(folder)} yet: runs appear when they are written there.", file=sys.stderr)
    try:
        dashboard = Dashboard(folder, host=host, port=port, token=token)
    except OSError:
        dashboard = Dashboard(folder, host=host, port=0, token=token)
    with dashboard:
        print(f"Runs of {dashboard.folder}: {dashboard.url}  (Ctrl-C ends it)", flush=True)
        if open_browser:
            import webbrowser

            webbrowser.open(dashboard.url)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()
