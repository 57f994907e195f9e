"""Runs a server in a background thread."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import secrets
import socket
import threading
from types import TracebackType

import uvicorn

from .._forks import close_in_children
from .connections import Connection, OpenConnections
from .guard import App, Guard
from .limits import Limits

# The number of connections that asyncio accepts per event loop iteration. It notices closed connections a few iterations later, so a few
# times this number may be open beyond the limit. The others wait in the kernel.
_ACCEPTED_AT_ONCE = 16
_WAITING = 2048
_START_SECONDS = 30.0


def is_loopback(host: str) -> bool:
    """Returns whether an address is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class RunningServer:
    """A server in a background thread, until it is closed; created by `start_server`.

    Attributes:
        host: The address that it listens on.
        port: The port that it listens on.
        token: The required token, or None.
    """

    def __init__(self, app: App, *, host: str, port: int, token: str | None, name: str, limits: Limits) -> None:
        local = is_loopback(host)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host.strip("[]"), port), family=family, backlog=_WAITING)
        close_in_children(self._socket)
        self.host, self.port = host, int(self._socket.getsockname()[1])
        self.token = token or (None if local else secrets.token_urlsafe(18))
        hosts = frozenset({"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host.lower()}) if local else None
        # Cookies are shared by all ports of a host, so the port is part of the name.
        guard = Guard(app, hosts=hosts, token=self.token, cookie=f"pyburn_token_{self.port}", limits=limits)
        config = uvicorn.Config(
            guard,
            http=functools.partial(Connection, others=OpenConnections(_most_connections(limits)), limits=limits),  # type: ignore[arg-type]
            loop="asyncio",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            proxy_headers=False,  # forwarding headers are not trusted
            server_header=False,
            backlog=_ACCEPTED_AT_ONCE,
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=limits.head_bytes,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True, name=name)
        self._thread.start()
        if not self._server.ready.wait(_START_SECONDS) or not self._server.started:
            self.close()
            raise RuntimeError(f"[{name}] the server did not start")

    @property
    def url(self) -> str:
        """The address for a browser, with the token."""
        name = socket.gethostname() if self.host in ("0.0.0.0", "::") else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def close(self) -> None:
        """Stops listening and closes the server; responses in progress get up to one second."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> RunningServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            super().run(sockets)
        finally:
            self.ready.set()  # or failed to start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(_WAITING)  # asyncio has set the backlog to the number it accepts at once
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the connections close


def _most_connections(limits: Limits) -> int:
    """Returns the limit on connections, reduced so that half of the process's file descriptors remain for other uses."""
    try:
        import resource
    except ImportError:  # Windows
        return limits.connections
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limits.connections if soft == resource.RLIM_INFINITY else max(8, min(limits.connections, soft // 2 - 4 * _ACCEPTED_AT_ONCE))
