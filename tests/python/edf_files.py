"""Small recordings in EDF and BDF, written for tests."""

from __future__ import annotations

import numpy as np


def edf_bytes(
    signals: list[tuple[str, np.ndarray, int]],
    records: int,
    duration: float = 1.0,
    annotations: list[bytes] | None = None,
    bdf: bool = False,
    kind: str = "",
    physical: tuple[float, float] = (-100.0, 100.0),
) -> bytes:
    """`signals` are (name, integers, samples a record); `annotations` one block of bytes a record, which are filled up to 60."""
    width = 3 if bdf else 2
    low, high = (-8388608, 8388607) if bdf else (-32768, 32767)
    rows = [(name, samples, f"{physical[0]:g}", f"{physical[1]:g}") for name, _, samples in signals]
    if annotations is not None:
        rows.append((f"{'BDF' if bdf else 'EDF'} Annotations", 60 // width, "-1", "1"))
    count = len(rows)

    def field(text: object, size: int) -> bytes:
        return str(text).encode().ljust(size)[:size]

    head = (b"\xffBIOSEMI" if bdf else field("0", 8)) + field("patient", 80) + field("recording", 80) + field("02.03.21", 8)
    head += (
        field("04.05.06", 8)
        + field(256 * (count + 1), 8)
        + field(kind, 44)
        + field(records, 8)
        + field(f"{duration:g}", 8)
        + field(count, 4)
    )
    head += b"".join(field(row[0], 16) for row in rows) + b"".join(field("", 80) for _ in rows) + b"".join(field("uV", 8) for _ in rows)
    head += b"".join(field(row[2], 8) for row in rows) + b"".join(field(row[3], 8) for row in rows)
    head += b"".join(field(low, 8) for _ in rows) + b"".join(field(high, 8) for _ in rows)
    head += b"".join(field("", 80) for _ in rows) + b"".join(field(row[1], 8) for row in rows) + b"".join(field("", 32) for _ in rows)
    body = b""
    for i in range(records):
        for _, values, samples in signals:
            part = values[i * samples : (i + 1) * samples].astype("<i4")
            body += part.view(np.uint8).reshape(-1, 4)[:, :3].tobytes() if bdf else part.astype("<i2").tobytes()
        if annotations is not None:
            body += annotations[i].ljust(60, b"\0")
    return head + body
