"""Reading image files with Pillow, which is installed by the extra `vision`."""

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
    """Raised when an image file is damaged. Also an OSError, which is what Pillow raises."""


# The exceptions that Pillow raises for damaged files.
_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, OverflowError, struct.error)
_SMALL = 1 << 18  # pixels, and bytes of a file, below which Pillow's file detection takes longer than decoding


def pillow() -> ModuleType:
    """Returns the module PIL.Image. Raises an ImportError with instructions if Pillow is missing."""
    try:
        import PIL.Image
    except ImportError:
        raise ImportError("reading images needs Pillow: pip install Pillow") from None
    return PIL.Image


def load_image(path: str | os.PathLike[str]) -> Image:
    """Reads an image file as an RGB Pillow image.

    Raises:
        ImageError: The file is damaged or its format unknown.
    """
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
    """Reads an image file with one channel, unconverted: palette images give palette indices.

    Raises:
        ImageError: The file is damaged or its format unknown.
        ValueError: The image has more than one channel.
    """
    images, data = pillow(), _content(path)
    with named_errors(path):
        image = images.open(io.BytesIO(data))
        image.load()
    if len(image.getbands()) != 1:
        raise ValueError(f"expected a mask of one channel: got mode {image.mode} in {os.fspath(path)}")
    return image


@contextlib.contextmanager
def named_errors(path: Any) -> Iterator[None]:
    """Context manager that adds the file name to Pillow's exceptions, so that one damaged image among thousands can be found."""
    images = pillow()
    try:
        yield
    except images.DecompressionBombError as error:  # more pixels than PIL.Image.MAX_IMAGE_PIXELS allows
        raise ImageError(f"{_named(path)} is too large: {error}") from error
    except _DAMAGE as error:
        if getattr(error, "errno", None) is not None:  # from the operating system; it already has the file name
            raise
        name = _named(path)
        if isinstance(error, images.UnidentifiedImageError):
            unknown = type("UnidentifiedImageError", (ImageError, images.UnidentifiedImageError), {})
            raise unknown(f"{name} is no picture that Pillow knows") from error
        raise ImageError(f"{name} cannot be read: {error}") from error


def _named(path: Any) -> str:
    return os.fspath(path) if isinstance(path, (str, os.PathLike)) else "the picture"


def _content(path: str | os.PathLike[str]) -> bytes:
    # Few system calls: each releases the GIL, which causes contention between threads that load small files.
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
    """Decodes a small 3-channel JPEG directly with Pillow's decoder, since opening it takes longer than decoding.

    Returns None for anything else and for damaged files, which the normal path then handles.
    """
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
    """Returns width and height of a JPEG with three 8-bit channels, else None."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = data[at + 5] << 8 | data[at + 6], data[at + 7] << 8 | data[at + 8]
            return (width, height) if data[at + 4] == 8 and data[at + 9] == 3 and width and height else None
        at += 2 + (data[at + 2] << 8 | data[at + 3])
    return None
