"""The limits of a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits for clients; see docs/servers.md.

    Attributes:
        head_bytes: The maximum size of the request line and the headers together.
        body_bytes: The maximum size of a request body, which is held in memory.
        head_seconds: The time limit from the opening of a connection, or the end of the previous response, to the end of the request
            headers.
        body_seconds: The time limit from the request headers to the end of the body.
        idle_seconds: How long an idle connection is kept open.
        read_seconds: The time limit for reading a response, plus one second per `read_rate` bytes.
        read_rate: The minimum read rate of a client, in bytes per second.
        connections: The maximum number of open connections. One more closes the oldest that waits for its client.

    >>> Limits(body_bytes=64 << 20).connections
    512
    """

    head_bytes: int = 32 << 10
    body_bytes: int = 1 << 20
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    idle_seconds: int = 5
    read_seconds: float = 30.0
    read_rate: int = 16 << 10
    connections: int = 512
