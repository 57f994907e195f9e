"""torchvision.io as far as pictures go: files become tensors of bytes (channels, height, width) by Pillow, and tensors become files."""

from __future__ import annotations

import enum
import io
import os
from typing import Any

import pyburn

from ... import _core
from ..._core import Tensor
from ...data.image_files import pillow
from ...data.transforms import functional as F
from ..absent import absent_names

__all__ = ["ImageReadMode", "decode_image", "decode_jpeg", "decode_png", "read_file", "read_image", "write_file", "write_jpeg", "write_png"]
__path__: list[str] = []


class ImageReadMode(enum.Enum):
    """The channels that an image is converted to when it is read.

    >>> ImageReadMode.RGB.value
    3
    """

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


_MODES = {"GRAY": "L", "GRAY_ALPHA": "LA", "RGB": "RGB", "RGB_ALPHA": "RGBA"}


def read_file(path: str | os.PathLike[str]) -> Tensor:
    """Returns the bytes of a file as a uint8 tensor.

    Args:
        path: The file.

    >>> write_file("three", pyburn.tensor([1, 2, 3], dtype=pyburn.uint8))
    >>> read_file("three")
    tensor([1, 2, 3], dtype=pyburn.uint8)
    """
    with open(path, "rb") as file:
        return pyburn.tensor(list(file.read()), dtype=_core.uint8)


def write_file(filename: str | os.PathLike[str], data: Tensor) -> None:
    """Writes the elements of a uint8 tensor to a file.

    Args:
        filename: The file.
        data: The bytes, a tensor (N,).

    >>> write_file("three", pyburn.tensor([1, 2, 3], dtype=pyburn.uint8))
    """
    with open(filename, "wb") as file:
        file.write(data.numpy().tobytes())


def decode_image(input: Any, mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Tensor:
    """Decodes an image.

    Args:
        input: The bytes of an image file as a uint8 tensor, or the path of a file.
        mode: The channels: an ImageReadMode or its name.
        apply_exif_orientation: Whether to rotate and flip the image as its EXIF data says.

    Returns:
        A uint8 tensor (C, H, W).

    Raises:
        ValueError: The mode is unknown.

    >>> write_png(pyburn.zeros(3, 2, 2, dtype=pyburn.uint8), "black.png")
    >>> decode_image(read_file("black.png"), ImageReadMode.GRAY).shape
    pyburn.Size([1, 2, 2])
    """
    source = io.BytesIO(input.numpy().tobytes()) if isinstance(input, Tensor) else input
    kind = mode.upper() if isinstance(mode, str) else mode.name
    if kind not in ImageReadMode.__members__:
        raise ValueError(f"[decode_image] mode is one of {', '.join(ImageReadMode.__members__)}: got {mode!r}")
    with pillow().open(source) as image:
        if apply_exif_orientation:
            from PIL import ImageOps

            image = ImageOps.exif_transpose(image)
        if kind in _MODES:
            image = image.convert(_MODES[kind])
        elif image.mode in ("1", "P"):  # what a palette stands for
            image = image.convert("L" if image.mode == "1" else "RGBA" if "transparency" in image.info else "RGB")
        return F.pil_to_tensor(image)


def read_image(path: str | os.PathLike[str], mode: Any = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False) -> Tensor:
    """Reads an image file.

    Args:
        path: The file.
        mode: The channels: an ImageReadMode or its name.
        apply_exif_orientation: Whether to rotate and flip the image as its EXIF data says.

    Returns:
        A uint8 tensor (C, H, W).

    >>> write_png(pyburn.zeros(3, 2, 2, dtype=pyburn.uint8), "black.png")
    >>> read_image("black.png").shape
    pyburn.Size([3, 2, 2])
    """
    return decode_image(os.fspath(path), mode, apply_exif_orientation)


decode_jpeg = decode_png = decode_image


def _write(input: Tensor, filename: str | os.PathLike[str], form: str, **options: Any) -> None:
    if input.dtype != _core.uint8 or input.ndim != 3 or input.shape[0] not in (1, 3):
        raise RuntimeError(f"[write_{form}] expected bytes (1 or 3, height, width): got {input.dtype} {tuple(input.shape)}")
    F.to_pil_image(input).save(filename, format=form, **options)


def write_jpeg(input: Tensor, filename: str | os.PathLike[str], quality: int = 75) -> None:
    """Writes an image to a JPEG file.

    Args:
        input: A uint8 tensor (1 or 3, H, W).
        filename: The file.
        quality: From 1 to 100.

    >>> write_jpeg(pyburn.zeros(3, 2, 2, dtype=pyburn.uint8), "black.jpg")
    """
    _write(input, filename, "jpeg", quality=quality)


def write_png(input: Tensor, filename: str | os.PathLike[str], compression_level: int = 6) -> None:
    """Writes an image to a PNG file.

    Args:
        input: A uint8 tensor (1 or 3, H, W).
        filename: The file.
        compression_level: From 0 (fast) to 9 (small).

    >>> write_png(pyburn.zeros(3, 2, 2, dtype=pyburn.uint8), "black.png")
    """
    _write(input, filename, "png", compress_level=compression_level)


__getattr__ = absent_names("torchvision.io")
