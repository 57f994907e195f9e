"""Masks of time steps. A tensor carries its mask to the next layer, as in Keras."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from pyburn import Tensor
from pyburn._nested import leaves, mapped


def mask_of(tensor: Any) -> Tensor | None:
    """Returns the mask of a tensor, which is False at masked steps, or None."""
    return getattr(tensor, "_mask", None)


def with_mask(tensor: Tensor, mask: Tensor | None) -> Tensor:
    """Attaches a mask to a tensor and returns the tensor."""
    if mask is not None or mask_of(tensor) is not None:
        tensor._mask = mask  # type: ignore[attr-defined]
    return tensor


def masks_of(inputs: Any) -> Any:
    """Returns the masks of nested inputs in the same structure; None if no input has a mask."""
    if isinstance(inputs, Tensor):
        return mask_of(inputs)
    if all(mask_of(leaf) is None for leaf in leaves(inputs)):
        return None
    return mapped(mask_of, inputs)


def takes_mask(cls: Any) -> bool:
    """Returns whether the forward method of a layer has an argument `mask`."""
    if "_computes_with_mask" not in cls.__dict__:
        cls._computes_with_mask = "mask" in inspect.signature(cls.computed_by()).parameters
    return cls._computes_with_mask


def hand_on(layer: Any, inputs: Any, masks: Any, output: Any) -> None:
    """Attaches the mask from `compute_mask` to the output; a layer without masks drops the mask of its input with a warning."""
    if not layer.makes_masks():
        if masks is not None:
            warnings.warn(f"[{type(layer).__name__}] does not use masks: that of its input ends here", stacklevel=3)
        return
    given = layer.compute_mask(inputs, masks)
    if isinstance(given, (list, tuple)):
        for tensor, mask in zip(leaves(output), given):
            with_mask(tensor, mask)
    elif given is not None:
        with_mask(next(leaves(output)), given)


def spread(mask: Tensor, like: Tensor) -> Tensor:
    """Appends dimensions of size 1 to a mask or weights up to the rank of a tensor, and casts to its dtype."""
    return mask.reshape(*mask.shape, *[1] * max(like.ndim - mask.ndim, 0)).to(like.dtype)


def weights_of(mask: Tensor | None, sample_weight: Tensor | None, values: Tensor, scaled: bool) -> Tensor | None:
    """Returns the sample weights multiplied by the mask; if scaled, so that the mean over all values is the mean over unmasked ones."""
    if mask is None:
        return sample_weight
    counted = mask.to(values.dtype)
    if scaled:
        counted = counted * (counted.numel() / counted.sum().clamp(min=1))
    if sample_weight is None:
        return counted
    return spread(sample_weight, counted) * spread(counted, sample_weight)
