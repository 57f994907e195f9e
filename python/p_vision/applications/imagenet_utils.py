"""Preprocessing of images for the ImageNet networks."""

from __future__ import annotations

from typing import Any

import pyburn

from .. import ops
from ..symbolic.symbol import Symbol

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's red, green and blue, scaled to [0, 1]
_BLUE_FIRST = (103.939, 116.779, 123.68)  # the means in [0, 255], in BGR order as in Caffe


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Converts images with values from 0 to 255, as arrays or tensors, to the input range of a network.

    Args:
        x: The images.
        data_format: "channels_last" or "channels_first".
        mode: "caffe" converts to BGR and subtracts ImageNet's means, "tf" scales to [-1, 1], "torch" normalizes by ImageNet's mean and
            standard deviation.

    Returns:
        The images, in the form of x.

    Raises:
        ValueError: The mode is unknown.

    >>> p_vision.applications.imagenet_utils.preprocess_input(pyburn.full((1, 1, 3), 255.0), mode="tf").flatten().tolist()
    [1.0, 1.0, 1.0]
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"[preprocess_input] mode is 'caffe', 'tf' or 'torch': got {mode!r}")
    if not isinstance(x, (pyburn.Tensor, Symbol)):
        return preprocess_input(pyburn.as_tensor(x).float(), data_format, mode).numpy()
    pictures: Any = x
    if mode == "tf":
        return pictures / 127.5 - 1.0
    axis = -3 if data_format == "channels_first" else -1

    def by_channel(values: Any) -> Any:
        return pyburn.tensor(values).reshape([3, 1, 1] if axis == -3 else [3])

    if mode == "caffe":
        return ops.flip(pictures, axis) - by_channel(_BLUE_FIRST)
    return (pictures / 255.0 - by_channel(_MEAN)) / by_channel(_DEVIATION)
