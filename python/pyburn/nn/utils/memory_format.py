"""Memory format of convolution weights."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._core._nn import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d, Module

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Converts the weights of all 2-d convolutions in a module to a memory format, and returns the module.

    Args:
        module: The module.
        memory_format: The memory format.

    >>> conv = pyburn.nn.utils.convert_conv2d_weight_memory_format(pyburn.nn.Conv2d(2, 3, 3), pyburn.channels_last)
    >>> conv.weight.is_contiguous(memory_format=pyburn.channels_last)
    True
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Converts the weights of all 3-d convolutions in a module to a memory format, and returns the module.

    Args:
        module: The module.
        memory_format: The memory format.

    >>> conv = pyburn.nn.utils.convert_conv3d_weight_memory_format(pyburn.nn.Conv3d(2, 3, 3), pyburn.channels_last_3d)
    >>> conv.weight.is_contiguous(memory_format=pyburn.channels_last_3d)
    True
    """
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: M, memory_format: Any, convolutions: tuple[Any, ...]) -> M:
    for part in module.modules():
        if isinstance(part, convolutions):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module
