"""A reader of TensorBoard's event files that shares nothing with the writer: records, checksums and protocol buffers from their definitions
(event.proto, summary.proto, tensor.proto), and what TensorBoard does when a session starts again."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Of each message: the number of a field, its name, and what it holds.
EVENT = {
    1: ("wall_time", "double"),
    2: ("step", "int"),
    3: ("file_version", "text"),
    4: ("graph", "GRAPH"),
    5: ("summary", "SUMMARY"),
    7: ("session_log", "SESSION"),
}
MESSAGES: dict[str, dict[int, tuple[str, str]]] = {
    "EVENT": EVENT,
    "SUMMARY": {1: ("values", "VALUE")},
    "VALUE": {
        1: ("tag", "text"),
        2: ("simple_value", "float"),
        4: ("image", "IMAGE"),
        5: ("histogram", "HISTOGRAM"),
        6: ("audio", "AUDIO"),
        8: ("tensor", "TENSOR"),
        9: ("metadata", "METADATA"),
    },
    "IMAGE": {1: ("height", "int"), 2: ("width", "int"), 3: ("colorspace", "int"), 4: ("encoded", "bytes")},
    "HISTOGRAM": {
        **{i: (name, "double") for i, name in enumerate(("min", "max", "num", "sum", "sum_squares"), 1)},
        **{6: ("limits", "doubles"), 7: ("counts", "doubles")},
    },
    "AUDIO": {1: ("rate", "float"), 2: ("channels", "int"), 3: ("frames", "int"), 4: ("encoded", "bytes"), 5: ("type", "text")},
    "TENSOR": {1: ("dtype", "int"), 2: ("shape", "SHAPE"), 4: ("content", "bytes"), 8: ("string_val", "bytes")},
    "SHAPE": {2: ("dim", "DIM")},
    "DIM": {1: ("size", "int")},
    "METADATA": {1: ("plugin", "PLUGIN")},
    "PLUGIN": {1: ("name", "text"), 2: ("content", "bytes")},
    "GRAPH": {1: ("nodes", "NODE"), 4: ("versions", "bytes")},
    "NODE": {1: ("name", "text"), 2: ("op", "text"), 3: ("inputs", "text"), 5: ("attributes", "bytes")},
    # plugins/pr_curve, custom_scalar/layout.proto, hparams/plugin_data.proto and api.proto, google/protobuf/struct.proto
    "CURVE": {1: ("version", "int"), 2: ("thresholds", "int")},
    "LAYOUT": {2: ("categories", "CATEGORY")},
    "CATEGORY": {1: ("title", "text"), 2: ("charts", "CHART")},
    "CHART": {1: ("title", "text"), 2: ("lines", "LINES"), 3: ("margin", "MARGIN")},
    "LINES": {1: ("tags", "text")},
    "MARGIN": {1: ("series", "SERIES")},
    "SERIES": {1: ("value", "text"), 2: ("lower", "text"), 3: ("upper", "text")},
    "HPARAMS": {2: ("experiment", "EXPERIMENT"), 3: ("start", "START"), 4: ("end", "END")},
    "EXPERIMENT": {4: ("infos", "INFO"), 5: ("metrics", "METRIC")},
    "INFO": {1: ("name", "text"), 4: ("type", "int"), 5: ("domain", "LIST")},
    "METRIC": {1: ("name", "NAME")},
    "NAME": {2: ("tag", "text")},
    "LIST": {1: ("values", "ANY")},
    "START": {1: ("hparams", "ENTRY")},
    "END": {1: ("status", "int")},
    "ENTRY": {1: ("key", "text"), 2: ("value", "ANY")},
    "ANY": {2: ("number", "double"), 3: ("string", "text"), 4: ("flag", "int")},
    "SESSION": {1: ("status", "int")},
}
WIRE = {"int": 0, "double": 1, "float": 5}  # everything else has a length


def checksum(data: bytes) -> int:
    """CRC-32C, bit by bit, rotated and shifted as TFRecord wants it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        length, of_length = struct.unpack_from("<QI", data, at)
        assert of_length == checksum(data[at : at + 8]), f"the length at byte {at} is damaged"
        body = data[at + 12 : at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == checksum(body), f"the record at byte {at} is damaged"
        yield body
        at += length + 16


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def decoded(data: bytes, message: str) -> dict[str, list[Any]]:
    """The fields of a message by name; a field that the definition does not have, or that is of another type, is an error."""
    found: dict[str, list[Any]] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        name, kind = MESSAGES[message][key >> 3]
        assert key & 7 == WIRE.get(kind, 2), f"{message}.{name} has the wire type {key & 7}"
        if kind == "int":
            value, at = varint(data, at)
        elif kind in ("double", "float"):
            (value,) = struct.unpack_from("<d" if kind == "double" else "<f", data, at)
            at += 8 if kind == "double" else 4
        else:
            length, at = varint(data, at)
            part, at = data[at : at + length], at + length
            assert len(part) == length, f"{message}.{name} is cut off"
            if kind == "doubles":
                assert length % 8 == 0, f"{message}.{name} is not made of doubles"
                value: Any = list(struct.unpack(f"<{length // 8}d", part))
            else:
                value = part.decode() if kind == "text" else part if kind == "bytes" else decoded(part, kind)
        found.setdefault(name, []).append(value)
    return found


def values_of(folder: Path) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """The values of all event files of a folder by tag, with their steps, as TensorBoard shows them.

    Where a session starts again at a step, what came before it with that step or a later one is forgotten.
    """
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for path in sorted(folder.glob("events.out.tfevents.*")):
        events = [decoded(body, "EVENT") for body in records(path.read_bytes())]
        assert events[0]["file_version"] == ["brain.Event:2"]
        for event in events[1:]:
            step = event.get("step", [0])[0]
            if event.get("session_log", [{}])[0].get("status") == [1]:
                found = {tag: [pair for pair in pairs if pair[0] < step] for tag, pairs in found.items()}
            for graph in event.get("graph", []):
                found.setdefault("graph", []).append((step, graph))
            for summary in event.get("summary", []):
                for value in summary["values"]:
                    found.setdefault(value["tag"][0], []).append((step, value))
    return found
