"""EDF and BDF headers: fixed-width ASCII fields of the recording and its signals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..data.files.source import FormatError


@dataclass(frozen=True)
class EDFSignal:
    """Header of one signal: its name, unit and range, and the position of its samples in a record."""

    label: str
    transducer: str
    unit: str
    physical_min: float
    physical_max: float
    digital_min: int
    digital_max: int
    prefilter: str
    samples: int
    offset: int
    is_annotation: bool

    @property
    def gain(self) -> float:
        """The physical units per digital step."""
        return (self.physical_max - self.physical_min) / (self.digital_max - self.digital_min)

    @property
    def offset_value(self) -> float:
        """The physical value of digital 0."""
        return self.physical_min - self.digital_min * self.gain


@dataclass(frozen=True)
class EDFHeader:
    """Header of a recording."""

    kind: str
    patient: str
    recording: str
    start: datetime | None
    bytes: int
    records: int
    record_duration: float
    record_bytes: int
    sample_bytes: int
    is_discontinuous: bool
    signals: list[EDFSignal]


# The widths of the columns of the table of signals.
_WIDTHS = {"label": 16, "transducer": 80, "unit": 8, "physical_min": 8, "physical_max": 8, "digital_min": 8, "digital_max": 8}
_WIDTHS |= {"prefilter": 80, "samples": 8, "reserved": 32}
_TEXTS = ("label", "transducer", "unit", "prefilter")


def read_header(read: Callable[[int, int], bytes], size: int, allow_truncated: bool) -> EDFHeader:
    """Parses the header of a file.

    Args:
        read: Called as `read(at, count)`; returns bytes of the file.
        size: The size of the file.
        allow_truncated: Whether to accept fewer records than claimed.

    Raises:
        FormatError: The header is invalid, or the file is truncated.
    """
    head = read(0, 256)
    if len(head) < 256:
        raise FormatError(f"[edf] the file has {len(head)} bytes, fewer than the 256 of a header")
    biosemi = head[:8] == b"\xffBIOSEMI"
    if not biosemi and head[:8].strip() != b"0":
        raise FormatError(f"[edf] not an EDF or BDF file: it begins with {head[:8]!r}")
    text = head.decode("latin-1")
    reserved = text[192:236]
    count = _whole(text[252:256], "number of signals")
    length = _whole(text[184:192], "length of the header")
    if not 0 < count <= 4096 or length != 256 * (count + 1):
        raise FormatError(f"[edf] a header of {length} bytes does not match {count} signals")
    sample_bytes = 3 if biosemi else 2
    table = read(256, 256 * count)
    if len(table) < 256 * count:
        raise FormatError(f"[edf] the file ends inside the header of its {count} signals")
    signals = _signals(table.decode("latin-1"), count, sample_bytes)
    record_bytes = sum(signal.samples for signal in signals) * sample_bytes
    duration = _real(text[244:252], "duration of a record")
    if not 0 <= duration < 1e9:
        raise FormatError(f"[edf] a record lasts {duration} s")
    if duration == 0 and any(not signal.is_annotation for signal in signals):
        raise FormatError("[edf] a record with signals lasts 0 s")
    claimed, there = _whole(text[236:244], "number of records"), (size - length) // record_bytes
    if claimed > there and not allow_truncated:
        raise FormatError(
            f"[edf] the header claims {claimed} records of {record_bytes} bytes, the file holds {there}: it is truncated"
            " (allow_truncated=True reads what is there)"
        )
    return EDFHeader(
        kind=("BDF" if biosemi else "EDF") + ("+D" if reserved[3:5] == "+D" else "+C" if reserved[3:5] == "+C" else ""),
        patient=text[8:88].strip(),
        recording=text[88:168].strip(),
        start=_start(text[168:176], text[176:184]),
        bytes=length,
        records=there if claimed < 0 else min(claimed, there),
        record_duration=duration,
        record_bytes=record_bytes,
        sample_bytes=sample_bytes,
        is_discontinuous=reserved[3:5] == "+D",
        signals=signals,
    )


def _signals(text: str, count: int, sample_bytes: int) -> list[EDFSignal]:
    columns: dict[str, list[str]] = {}
    at = 0
    for name, width in _WIDTHS.items():
        columns[name] = [text[at + i * width : at + (i + 1) * width].strip() for i in range(count)]
        at += width * count
    signals, offset = [], 0
    for i in range(count):
        label = columns["label"][i]
        samples = _whole(columns["samples"][i], f"number of samples of {label!r}")
        if not 0 < samples <= 10**8:
            raise FormatError(f"[edf] {label!r} has {samples} samples in a record")
        numbers = [_real(columns[name][i], f"{name} of {label!r}") for name in ("physical_min", "physical_max")]
        low, high = (_whole(columns[name][i], f"{name} of {label!r}") for name in ("digital_min", "digital_max"))
        notes = label in ("EDF Annotations", "BDF Annotations")
        if low == high and not notes:
            raise FormatError(f"[edf] {label!r} has the empty digital range {low} to {high}")
        texts: dict[str, Any] = {name: columns[name][i] for name in _TEXTS}
        ranges: dict[str, Any] = {"physical_min": numbers[0], "physical_max": numbers[1], "digital_min": low, "digital_max": high}
        signals.append(EDFSignal(**texts, **ranges, samples=samples, offset=offset, is_annotation=notes))
        offset += samples * sample_bytes
    return signals


def _whole(text: str, what: str) -> int:
    value = _real(text, what)
    if value != int(value):
        raise FormatError(f"[edf] the {what} is {text.strip()!r}: expected an integer")
    return int(value)


def _real(text: str, what: str) -> float:
    try:
        value = float(text.strip().replace(",", "."))  # some writers use a decimal comma
    except ValueError:
        raise FormatError(f"[edf] the {what} is {text.strip()!r}: expected a number") from None
    if not math.isfinite(value):
        raise FormatError(f"[edf] the {what} is {text.strip()!r}: expected a number")
    return value


def _start(date: str, time: str) -> datetime | None:
    """Parses the start time. Two-digit years mean 1985 to 2084; returns None for invalid dates, since the signals are still usable."""
    try:
        day, month, year = (int(part) for part in date.split("."))
        hour, minute, second = (int(part) for part in time.split("."))
        return datetime(year + (1900 if year >= 85 else 2000), month, day, hour, minute, second)
    except ValueError:
        return None
