"""Bounds of a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What clients may ask of a server; see docs/servers.md.

    Attributes:
        head_bytes: The largest request line and headers, together.
        body_bytes: The largest body of a request. It is held in memory.
        head_seconds: From the opening of a connection, or the end of the response before, to the end of a request's headers.
        body_seconds: From the headers of a request to the end of its body.
        idle_seconds: How long a connection is kept for another request.
        read_seconds: Within this time, plus a second per `read_rate` bytes, a client has to read a response.
        read_rate: The slowest client, in bytes per second.
        connections: The most open connections. One more closes the oldest that waits for its client.
    """

    head_bytes: int = 32 << 10
    body_bytes: int = 1 << 20
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    idle_seconds: int = 5
    read_seconds: float = 30.0
    read_rate: int = 16 << 10
    connections: int = 512
