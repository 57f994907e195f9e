"""The weights of Silero's detector as its ONNX file has them: names, and a reader of float tensors for tests that have no ONNX at hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {  # ours: those of the part of the graph for 16 kHz
    "stft_conv.weight": "model.stft.forward_basis_buffer",
    **{f"conv{k + 1}.{part}": f"model.encoder.{k}.reparam_conv.{part}" for k in range(4) for part in ("weight", "bias")},
    **{f"lstm_cell.{part}": f"model.decoder.rnn.{part}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")},
    **{f"final_conv.{part}": f"model.decoder.decoder.2.{part}" for part in ("weight", "bias")},
}
_GRAPH, _INITIALIZER, _DIMS, _NAME, _RAW = 7, 5, 1, 8, 9  # field numbers of ModelProto, GraphProto, TensorProto


def onnx_weights(path: Path) -> dict[str, np.ndarray]:
    """The initialisers of an ONNX file that are raw float32, by our names."""
    found = {}
    for graph in _fields(path.read_bytes(), _GRAPH):
        for tensor in _fields(graph, _INITIALIZER):
            shape = [size for sizes in _fields(tensor, _DIMS) for size in ([sizes] if isinstance(sizes, int) else _packed(sizes))]
            name = b"".join(_fields(tensor, _NAME)).decode()
            raw = b"".join(_fields(tensor, _RAW))
            if len(raw) == 4 * int(np.prod(shape)):
                found[name] = np.frombuffer(raw, "<f4").reshape(shape)
    return {ours: found[theirs] for ours, theirs in NAMES.items()}


def _fields(message: bytes, wanted: int) -> Iterator[Any]:
    """The values of one field of a protocol buffer: numbers, or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value: Any
        if key & 7 == 0:
            value, at = _varint(message, at)
        else:
            size, at = _varint(message, at) if key & 7 == 2 else (8 if key & 7 == 1 else 4, at)
            value, at = message[at : at + size], at + size
        if key >> 3 == wanted:
            yield value


def _packed(numbers: bytes) -> Iterator[int]:
    at = 0
    while at < len(numbers):
        number, at = _varint(numbers, at)
        yield number


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
