"""Connections with timeouts and a limit on their number, based on uvicorn's HTTP protocol, which has neither for slow clients."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits

_logger = logging.getLogger("pyburn.server")  # not uvicorn's logger, whose configuration belongs to the user's program


class OpenConnections:
    """The open connections of a server, ordered by their last response (or opening)."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Adds a connection. Above the limit, closes the oldest one that waits for its client, so that idle clients cannot lock out
        others.
        """
        self._open[connection] = None
        if len(self._open) > self.most:
            oldest = next((one for one in self._open if one.waits_for_client), connection)
            self.remove(oldest)
            oldest.drop()

    def renew(self, connection: Connection) -> None:
        """Moves a connection to the end after a response."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def remove(self, connection: Connection) -> None:
        self._open.pop(connection, None)


class Connection(H11Protocol):
    """A connection whose client must send headers and read responses within a time limit."""

    def __init__(self, *args: Any, others: OpenConnections, limits: Limits, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger, self.access_log = _logger, False
        self._others, self._limits = others, limits
        self._head_deadline: asyncio.TimerHandle | None = None
        self._read_deadline: asyncio.TimerHandle | None = None

    @property
    def waits_for_client(self) -> bool:
        """Whether the client has to act next: send the rest of a request, or read the response."""
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
        if not self._answering:  # otherwise it continues with a pipelined request
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
        # Shuts the socket down even if a forked child still has a copy of it.
        with contextlib.suppress(OSError):
            self.transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self.waits_for_client:
            self.drop()
        else:
            super().shutdown()

    def drop(self) -> None:
        """Closes the connection at once and discards unsent data, in the kernel too."""
        if self.transport.get_write_buffer_size():
            with contextlib.suppress(OSError):
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _expect_head(self) -> None:
        _cancel(self._head_deadline)
        self._head_deadline = self.loop.call_later(self._seconds_to_read(self._limits.head_seconds), self.drop)

    def _seconds_to_read(self, seconds: float) -> float:
        """Returns a time limit, extended by the time the client needs to read the buffered data."""
        return seconds + self.transport.get_write_buffer_size() / self._limits.read_rate


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
