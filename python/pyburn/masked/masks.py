"""Puts a value in place of masked elements."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ..tensor.number_info import iinfo


def let_through(input: Tensor, mask: Tensor | None, instead: Any) -> Tensor:
    return input if mask is None else _core.where(_core.broadcast_to(mask, input.shape), input, instead)


def least(input: Tensor) -> Any:
    return -float("inf") if input.is_floating_point() else iinfo(input.dtype).min


def most(input: Tensor) -> Any:
    return float("inf") if input.is_floating_point() else iinfo(input.dtype).max
