"""Image files as Pillow images and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn

_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}


def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: Sequence[int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Any:
    """Reads an image file.

    Args:
        path: The file.
        color_mode: "grayscale", "rgb" or "rgba".
        target_size: The size (height, width) to resize to.
        interpolation: The resampling method.
        keep_aspect_ratio: Crops the image to the aspect ratio of target_size before resizing.

    Returns:
        A Pillow image.

    Raises:
        ValueError: An option has an unknown value.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
    >>> p_vision.utils.save_img(path, pyburn.rand(4, 6, 3))
    >>> p_vision.utils.load_img(path, target_size=(8, 8)).size
    (8, 8)
    """
    from pyburn.data.image_files import named_errors, pillow

    images = pillow()
    if color_mode not in _MODES:
        raise ValueError(f"[load_img] color_mode is 'grayscale', 'rgb' or 'rgba': got {color_mode!r}")
    with named_errors(path), images.open(path) as file:
        picture = file.convert(_MODES[color_mode])
    if target_size is None or picture.size == (target_size[1], target_size[0]):
        return picture
    kinds = {"nearest": 0, "bilinear": 2, "bicubic": 3, "hamming": 5, "box": 4, "lanczos": 1}
    if interpolation not in kinds:
        raise ValueError(f"[load_img] interpolation is one of {', '.join(kinds)}: got {interpolation!r}")
    height, width = target_size
    if keep_aspect_ratio:
        have_width, have_height = picture.size
        cut_height, cut_width = min(have_height, have_width * height // width), min(have_width, have_height * width // height)
        left, top = (have_width - cut_width) // 2, (have_height - cut_height) // 2
        picture = picture.crop((left, top, left + cut_width, top + cut_height))
    return picture.resize((width, height), kinds[interpolation])


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = "float32") -> Any:
    """Converts a Pillow image to an array (height, width, channels).

    Args:
        img: The image.
        data_format: "channels_last", or "channels_first" for (channels, height, width).
        dtype: The dtype of the array.

    Returns:
        The array.

    >>> image = p_vision.utils.array_to_img(pyburn.rand(4, 6, 3))
    >>> p_vision.utils.img_to_array(image).shape
    (4, 6, 3)
    """
    import numpy

    array = numpy.asarray(img, dtype=dtype)
    array = array[..., None] if array.ndim == 2 else array
    return array.transpose(2, 0, 1) if data_format == "channels_first" else array


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """Converts an array (height, width, channels) to a Pillow image.

    Args:
        x: The array or tensor.
        data_format: "channels_last" or "channels_first".
        scale: Whether to rescale the values to 0 to 255.
        dtype: Accepted for compatibility; has no effect.

    Returns:
        The image.

    Raises:
        ValueError: The array is not an image of 1, 3 or 4 channels.

    >>> p_vision.utils.array_to_img(pyburn.rand(4, 6, 3)).size
    (6, 4)
    """
    import numpy

    from pyburn.data.image_files import pillow

    array = numpy.array(x.detach().to("cpu") if isinstance(x, pyburn.Tensor) else x, dtype="float32")
    if array.ndim != 3:
        raise ValueError(f"[array_to_img] expected an array of 3 axes: got the shape {array.shape}")
    array = array.transpose(1, 2, 0) if data_format == "channels_first" else array
    if scale:
        array = array - array.min()
        array = array * (255 / max(float(array.max()), 1e-12))
    if array.shape[-1] not in (1, 3, 4):
        raise ValueError(f"[array_to_img] a picture has 1, 3 or 4 channels: got {array.shape[-1]}")
    return pillow().fromarray(array[..., 0].astype("uint8") if array.shape[-1] == 1 else array.astype("uint8"))


def save_img(path: Any, x: Any, data_format: str | None = None, file_format: str | None = None, scale: bool = True) -> None:
    """Writes an array as an image file.

    Args:
        path: The file.
        x: The array or tensor.
        data_format: "channels_last" or "channels_first".
        file_format: The format; by default from the extension.
        scale: Whether to rescale the values to 0 to 255.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
    >>> p_vision.utils.save_img(path, pyburn.rand(4, 6, 3))
    >>> p_vision.utils.load_img(path).size
    (6, 4)
    """
    array_to_img(x, data_format, scale).save(path, file_format)


__all__ = ["array_to_img", "img_to_array", "load_img", "save_img"]
