"""Decodes image files for the operator ImageDecoder."""

from __future__ import annotations

import io

from .._core import Tensor
from ..data.image_files import named_errors, pillow
from ..tensor import from_numpy


def decode(data: bytes, pixels: str) -> Tensor:
    """Returns the pixels of an image file as uint8 (height, width, channels).

    Args:
        data: The content of the file: JPEG, PNG, WebP, TIFF, BMP, JPEG 2000 or another format of Pillow.
        pixels: "RGB", "BGR" or "Grayscale".

    Raises:
        ImageError: The image is damaged or its format unknown.
        ImportError: Pillow is not installed.
    """
    import numpy as np

    with named_errors("the input of ImageDecoder"):
        image = pillow().open(io.BytesIO(data)).convert("L" if pixels == "Grayscale" else "RGB")
    array = np.asarray(image).reshape(image.height, image.width, -1)
    return from_numpy((array[:, :, ::-1] if pixels == "BGR" else array).copy())
