"""Connections with deadlines and a bound on their number, on uvicorn's HTTP protocol, which has neither for slow clients."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits

_logger = logging.getLogger("pyburn.server")  # not uvicorn's, whose settings belong to the user's program


class OpenConnections:
    """The connections of a server, in the order in which they last got a response (or were opened)."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Adds one and, above the bound, closes the oldest whose client is to blame: so nobody can keep others out by waiting."""
        self._open[connection] = None
        if len(self._open) > self.most:
            oldest = next((one for one in self._open if one.waits_for_client), connection)
            self.remove(oldest)
            oldest.drop()

    def renew(self, connection: Connection) -> None:
        """Notes that a response was given."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def remove(self, connection: Connection) -> None:
        self._open.pop(connection, None)


class Connection(H11Protocol):
    """A connection whose client must send whole headers and read its responses in time."""

    def __init__(self, *args: Any, others: OpenConnections, limits: Limits, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger, self.access_log = _logger, False
        self._others, self._limits = others, limits
        self._head_deadline: asyncio.TimerHandle | None = None
        self._read_deadline: asyncio.TimerHandle | None = None

    @property
    def waits_for_client(self) -> bool:
        """Whether the next move is the client's: to send the rest of a request, or to read the response."""
        return not self._answering or self.cycle.more_body or self.flow.write_paused

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self._expect_head()
        self._others.add(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering:
            _cancel(self._head_deadline)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._others.renew(self)
        if not self._answering:  # else it goes on with a request that had arrived already
            self._expect_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        _cancel(self._read_deadline)
        self._read_deadline = self.loop.call_later(self._seconds_to_read(self._limits.read_seconds), self.drop)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._read_deadline)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._head_deadline, self._read_deadline):
            _cancel(timer)
        self._others.remove(self)
        # The end is sent even where a forked child still has a copy of the socket.
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self.waits_for_client:
            self.drop()
        else:
            super().shutdown()

    def drop(self) -> None:
        """Ends the connection at once. What the client has not read is thrown away, also by the system."""
        if self.transport.get_write_buffer_size():
            with contextlib.suppress(OSError):
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _expect_head(self) -> None:
        _cancel(self._head_deadline)
        self._head_deadline = self.loop.call_later(self._seconds_to_read(self._limits.head_seconds), self.drop)

    def _seconds_to_read(self, seconds: float) -> float:
        """A time limit, longer while there is much that the client has yet to read."""
        return seconds + self.transport.get_write_buffer_size() / self._limits.read_rate


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
