"""Conversion between Pillow images, NumPy arrays and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ..._core import Tensor
from ...tensor.creation import from_numpy, tensor
from ..image_files import pillow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DType


def is_pil_image(image: Any) -> bool:
    """Returns whether a value is a Pillow image."""
    return hasattr(image, "getbands") and hasattr(image, "resize")


def expect_image(image: Any) -> None:
    """Raises TypeError if a value is neither a Pillow image nor an image tensor."""
    if isinstance(image, Tensor):
        if image.dim() < 2:
            raise TypeError(f"expected an image (..., H, W): got shape {tuple(image.shape)}")
    elif not is_pil_image(image):
        raise TypeError(f"img should be PIL Image or Tensor: got {type(image)}")


def _pixels(image: Any) -> np.ndarray[Any, Any]:
    """Returns an image or array as an array (H, W, C)."""
    if is_pil_image(image):
        array = np.asarray(image)
        if image.mode == "1":
            array = array.astype(np.uint8) * np.uint8(255)
    else:
        array = image
        if array.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    return array[:, :, None] if array.ndim == 2 else array


def to_tensor(pic: Any) -> Tensor:
    """Converts a Pillow image or an array (H, W, C) to a tensor (C, H, W); uint8 becomes float32 in [0, 1].

    Args:
        pic: A Pillow image or an array (H, W, C).

    Returns:
        The tensor (C, H, W).

    Raises:
        TypeError: The value is neither.
    """
    if not is_pil_image(pic) and not isinstance(pic, np.ndarray):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    pixels = _pixels(pic).transpose(2, 0, 1)
    if pixels.dtype != np.uint8:
        return from_numpy(np.array(pixels, order="C"))
    # Written in one pass to memory from pyburn's allocator, which is reused; NumPy would request new pages from the system.
    made = _core.empty(pixels.shape, dtype=_core.float32, device="cpu")
    np.divide(pixels, np.float32(255), out=made.numpy())
    return made


def to_normalized_tensor(pic: Any, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Returns normalize(to_tensor(pic), mean, std) without an intermediate copy."""
    made = to_tensor(pic)
    if made.dtype != _core.float32:
        return normalize(made, mean, std)
    values = made.numpy()
    shift, scale = _per_channel(mean, std, np.float32)
    values -= shift
    values /= scale
    return made


def _per_channel(mean: Sequence[float], std: Sequence[float], dtype: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    shift, scale = (np.asarray(values, dtype).reshape(-1, 1, 1) for values in (mean, std))
    if (scale == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {scale.dtype}, leading to division by zero.")
    return shift, scale


def normalize(tensor_: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """Normalizes each channel: (x - mean) / std, for float tensors (..., C, H, W).

    Args:
        tensor_: The image.
        mean: The mean of each channel.
        std: The standard deviation of each channel.
        inplace: Whether to modify the tensor in place.

    Returns:
        The tensor.

    Raises:
        TypeError: The image is not a float tensor.
        ValueError: It has fewer than 3 dimensions, or a standard deviation is 0.

    >>> pyburn.data.transforms.functional.normalize(pyburn.ones(1, 2, 2), [0.5], [0.5])
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    if not isinstance(tensor_, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor_)}")
    if not tensor_.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor_.dtype}.")
    if tensor_.dim() < 3:
        raise ValueError(f"Expected tensor to be a tensor image of size (..., C, H, W). Got shape {tuple(tensor_.shape)}")
    shift, scale = _per_channel(mean, std, np.float64 if tensor_.dtype == _core.float64 else np.float32)
    if not inplace:
        tensor_ = tensor_.clone()
    return tensor_.sub_(from_numpy(shift).to(tensor_.device, tensor_.dtype)).div_(from_numpy(scale).to(tensor_.device, tensor_.dtype))


def from_array(pic: Any) -> Tensor:
    """Converts an array (H, W, C) or (H, W) to a tensor (C, H, W) of the same dtype."""
    if not isinstance(pic, np.ndarray):
        raise TypeError(f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(pic)} instead.")
    return from_numpy(np.array(_pixels(pic).transpose(2, 0, 1), order="C"))


def pil_to_tensor(pic: Any) -> Tensor:
    """Converts a Pillow image to a tensor (C, H, W) without scaling.

    Args:
        pic: A Pillow image.

    Returns:
        The tensor (C, H, W).
    """
    if not is_pil_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    array = np.asarray(pic)
    return from_numpy(np.array((array[:, :, None] if array.ndim == 2 else array).transpose(2, 0, 1), order="C"))


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Converts a tensor (C, H, W) or an array (H, W, C) to a Pillow image; floats in [0, 1] become uint8.

    Args:
        pic: The tensor or array.
        mode: The Pillow mode; None derives it from dtype and channels.

    Returns:
        The Pillow image.

    Raises:
        TypeError: The type or dtype is not supported.
        ValueError: The shape or mode is not supported.
    """
    images = pillow()
    if isinstance(pic, Tensor):
        if pic.dim() not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.dim()} dimensions.")
        pic = pic.detach().cpu()
        if pic.is_floating_point() and mode != "F":
            pic = pic.mul(255).to(_core.uint8)
        array = pic.numpy()
        array = array if array.ndim == 2 else array.transpose(1, 2, 0)
    elif isinstance(pic, np.ndarray):
        array = pic
    else:
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    array = array[:, :, None] if array.ndim == 2 else array
    channels = array.shape[2]
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    if channels == 1:
        array = array[:, :, 0]
        expected = {"uint8": "L", "int16": "I;16", "uint16": "I;16", "int32": "I", "float32": "F"}.get(array.dtype.name)
        if mode is not None and mode != expected:
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {array.dtype}. Should be {expected}")
        mode = expected
    else:
        permitted = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}[channels]
        if mode is not None and mode not in permitted:
            raise ValueError(f"Only modes {permitted} are supported for {channels} channels: got {mode}")
        mode = mode or permitted[0]
        if array.dtype != np.uint8:
            raise TypeError(f"Input type {array.dtype} is not supported for {channels} channels")
    if mode is None:
        raise TypeError(f"Input type {array.dtype} is not supported")
    array = np.ascontiguousarray(array)
    return images.frombytes(mode, (array.shape[1], array.shape[0]), array.tobytes())


def convert_image_dtype(image: Tensor, dtype: DType | None = None) -> Tensor:
    """Converts an image to another dtype and scales its values to the range of that dtype: [0, 1] for floats, 0 to the maximum for
    integers.

    Args:
        image: The image.
        dtype: The dtype; None for float32.

    Returns:
        The image.

    Raises:
        RuntimeError: The integer type is too large to be converted to from floats safely.

    >>> pyburn.data.transforms.functional.convert_image_dtype(pyburn.tensor([0, 255], dtype=pyburn.uint8))
    tensor([0., 1.])
    """
    dtype = _core.get_default_dtype() if dtype is None else dtype
    if image.dtype == dtype:
        return image
    largest, largest_before = _largest(dtype), _largest(image.dtype)
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if (image.dtype == _core.float32 and dtype.itemsize >= 4) or (image.dtype == _core.float64 and dtype.itemsize == 8):
            raise RuntimeError(f"The cast from {image.dtype} to {dtype} cannot be performed safely.")
        # Scaled to just below max + 1, so that 1.0 maps to the maximum and all integers cover equal intervals.
        return image.mul(largest + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype).div_(largest_before)
    if largest_before > largest:
        return _core.floor_divide(image, (largest_before + 1) // (largest + 1)).to(dtype)
    return image.to(dtype) * ((largest + 1) // (largest_before + 1))


def _largest(dtype: Any) -> int:
    if dtype.is_floating_point:
        return 1
    return 1 if dtype == _core.bool else 2 ** (8 * dtype.itemsize - bool(dtype.is_signed)) - 1


def to_numbers(values: Any, like: Tensor) -> Tensor:
    """Returns a fill value as a tensor (C, 1, 1) on the device of an image."""
    return tensor(values, dtype=_core.float32, device=like.device).reshape(-1, 1, 1)
