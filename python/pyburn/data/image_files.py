"""Reading images by Pillow, which is the extra `vision`."""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

from .._core import FormatError


class ImageError(FormatError, OSError):
    """An image file is damaged. Also an OSError, which is what Pillow raises."""


# What Pillow raises for files that are damaged.
_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, OverflowError, struct.error)
_SMALL = 1 << 18  # pixels, and bytes of a file: where finding out about a file takes longer than decoding it


def pillow() -> ModuleType:
    """Pillow's module Image, or an error that helps where it is missing."""
    try:
        import PIL.Image
    except ImportError:
        raise ImportError("images are read by Pillow: pip install pyburn[vision]") from None
    return PIL.Image


def load_image(path: str | os.PathLike[str]) -> Image:
    """An image file as an RGB image of Pillow."""
    images = pillow()
    data = _content(path)
    if len(data) <= _SMALL and data.startswith(b"\xff\xd8"):
        image = _decoded_jpeg(images, data)
        if image is not None:
            return image
    with named_errors(path):
        image = images.open(io.BytesIO(data))
        if image.mode != "RGB":
            return image.convert("RGB")
        image.load()
        return image


def load_mask(path: str | os.PathLike[str]) -> Image:
    """An image file as it is, of one channel: palettes give the numbers of their colours."""
    images, data = pillow(), _content(path)
    with named_errors(path):
        image = images.open(io.BytesIO(data))
        image.load()
    if len(image.getbands()) != 1:
        raise ValueError(f"expected a mask of one channel: got mode {image.mode} in {os.fspath(path)}")
    return image


@contextlib.contextmanager
def named_errors(path: Any) -> Iterator[None]:
    """Pillow's errors with the name of the file, which it has not seen: of thousands of pictures one is damaged."""
    images = pillow()
    try:
        yield
    except images.DecompressionBombError as error:  # more pixels than PIL.Image.MAX_IMAGE_PIXELS allows
        raise ImageError(f"{_named(path)} is too large: {error}") from error
    except _DAMAGE as error:
        if getattr(error, "errno", None) is not None:  # of the system, which names the file
            raise
        name = _named(path)
        if isinstance(error, images.UnidentifiedImageError):
            unknown = type("UnidentifiedImageError", (ImageError, images.UnidentifiedImageError), {})
            raise unknown(f"{name} is no picture that Pillow knows") from error
        raise ImageError(f"{name} cannot be read: {error}") from error


def _named(path: Any) -> str:
    return os.fspath(path) if isinstance(path, (str, os.PathLike)) else "the picture"


def _content(path: str | os.PathLike[str]) -> bytes:
    # Few calls into the system: each lets go of the interpreter's lock, which threads that load small files then pass around.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        data = os.read(file, _SMALL + 1)
        if len(data) <= _SMALL:
            return data
        parts = [data]
        while part := os.read(file, 1 << 24):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)


def _decoded_jpeg(images: Any, data: bytes) -> Image | None:
    """A small JPEG with three channels, straight from Pillow's decoder: Pillow's own way to it takes longer than decoding. None for
    whatever is not plain, or damaged, which that way then reports."""
    try:
        size = _jpeg_size(data)
        if size is None or size[0] * size[1] > _SMALL:
            return None
        pixels = images.core.new("RGB", size)
        decoder = images._getdecoder("RGB", "jpeg", ("RGB", ""), ())
        decoder.setimage(pixels, (0, 0, *size))
        consumed, error = decoder.decode(data)
        decoder.cleanup()
        return images.Image()._new(pixels) if consumed < 0 and error == 0 else None
    except (AttributeError, IndexError, TypeError, ValueError, OSError):
        return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a JPEG of three channels of 8 bits."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = data[at + 5] << 8 | data[at + 6], data[at + 7] << 8 | data[at + 8]
            return (width, height) if data[at + 4] == 8 and data[at + 9] == 3 and width and height else None
        at += 2 + (data[at + 2] << 8 | data[at + 3])
    return None
