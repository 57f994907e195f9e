"""Writes ONNX models of one node, without the package onnx."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

FLOAT, UINT8, INT8, INT32, INT64, STRING, BOOL = 1, 2, 3, 6, 7, 8, 9
TYPES = {"float32": FLOAT, "uint8": UINT8, "int8": INT8, "int32": INT32, "int64": INT64, "bool": BOOL, "float64": 11, "float16": 10}


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def _number(field: int, n: int) -> bytes:
    return _varint(field << 3) + _varint(n)


def _bytes(field: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _single(field: int, x: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", x)


def _attribute(name: str, value: Any) -> bytes:
    head = _bytes(1, name)
    if isinstance(value, np.ndarray):
        dims = b"".join(_number(1, n) for n in value.shape)
        return head + _bytes(5, dims + _number(2, TYPES[value.dtype.name]) + _bytes(9, value.tobytes())) + _number(20, 4)
    if isinstance(value, (bool, int)):
        return head + _number(3, int(value)) + _number(20, 2)
    if isinstance(value, float):
        return head + _single(2, value) + _number(20, 1)
    if isinstance(value, str):
        return head + _bytes(4, value) + _number(20, 3)
    if all(isinstance(v, str) for v in value):
        return head + b"".join(_bytes(9, v) for v in value) + _number(20, 8)
    if all(isinstance(v, int) for v in value):
        return head + b"".join(_number(8, v) for v in value) + _number(20, 7)
    return head + b"".join(_single(7, float(v)) for v in value) + _number(20, 6)


def _value(name: str, element_type: int) -> bytes:
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, element_type)))


def one_node(
    op: str, types: list[int | None], outputs: int = 1, domain: str = "", opset: int = 21, output_type: int = FLOAT, **attributes: Any
) -> bytes:
    """A model of one node. An input of type None is left out."""
    names = [f"i{k}" if t is not None else "" for k, t in enumerate(types)]
    results = [f"o{k}" for k in range(outputs)]
    node = b"".join(_bytes(1, n) for n in names) + b"".join(_bytes(2, n) for n in results) + _bytes(4, op) + _bytes(7, domain)
    node += b"".join(_bytes(5, _attribute(k, v)) for k, v in attributes.items())
    graph = _bytes(1, node) + _bytes(2, "g")
    graph += b"".join(_bytes(11, _value(n, t)) for n, t in zip(names, types, strict=True) if t is not None)
    graph += b"".join(_bytes(12, _value(n, output_type)) for n in results)
    opsets = {"": opset, "com.microsoft": 1, "ai.onnx.ml": 3} | ({domain: 1} if domain == "ai.onnx.preview.training" else {})
    imports = b"".join(_bytes(8, _bytes(1, name) + _number(2, version)) for name, version in opsets.items())
    return _number(1, 9) + _bytes(7, graph) + imports
