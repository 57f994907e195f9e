"""Writes sample predictions to predictions/, with images as PNG."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..metrics.metric import array
from .append_file import replace_text
from .plain_values import plain


def png(image: Any) -> bytes:
    r"""Encodes an image as PNG.

    Args:
        image: Of shape (height, width), (height, width, channels) or (channels, height, width), with 1, 3 or 4 channels. Floats are in [0,
            1].

    Returns:
        The content of a PNG file.

    Raises:
        ValueError: The shape is not one of these.

    >>> pyburn.train.run.png(pyburn.zeros(1, 8, 8))[:4]
    b'\x89PNG'
    """
    pixels = array(image)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.ndim != 3 or 0 in pixels.shape:
        raise ValueError(f"[png] expected a picture with two or three axes: got shape {tuple(pixels.shape)}")
    if pixels.shape[2] not in (1, 3, 4) and pixels.shape[0] in (1, 3, 4):
        pixels = pixels.transpose(1, 2, 0)
    if pixels.shape[2] not in (1, 3, 4):
        raise ValueError(f"[png] expected 1, 3 or 4 channels: got shape {tuple(pixels.shape)}")
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    elif pixels.dtype.kind == "f":
        pixels = (np.nan_to_num(pixels.astype(np.float64)).clip(0, 1) * 255).round().astype(np.uint8)
    elif pixels.dtype != np.uint8:
        pixels = pixels.clip(0, 255).astype(np.uint8)
    height, width, channels = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * channels)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_samples(folder: Path, samples: Sequence[Mapping[str, Any]], *, step: int, epoch: int, split: str) -> Path:
    """Writes predictions/<split>-<step>.json, with its images next to it, and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{quote(split, safe='').replace('.', '%2E')}-{step:08d}"
    listed = []
    for index, sample in enumerate(samples):
        entry = {key: value for key, value in sample.items() if key != "image"}
        if sample.get("image") is not None:
            entry["image"] = f"{stem}-{index:03d}.png"
            (folder / entry["image"]).write_bytes(png(sample["image"]))
        listed.append(plain(entry))
    path = folder / f"{stem}.json"
    replace_text(path, json.dumps({"split": split, "epoch": epoch, "step": step, "samples": listed}, indent=1) + "\n")
    return path
