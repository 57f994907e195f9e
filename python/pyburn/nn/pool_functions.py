"""Pooling functions that return indices only on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core


def _max_pool(axes: int, always: bool = False) -> Callable[..., Any]:
    """Creates max_pool, or max_pool_with_indices, which always returns indices."""
    plain, with_indices = getattr(_core, f"max_pool{axes}d"), getattr(_core, f"max_pool{axes}d_with_indices")

    def max_pool(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return (with_indices if always or return_indices else plain)(input, kernel_size, stride, padding, dilation, ceil_mode)

    name = f"max_pool{axes}d_with_indices" if always else f"max_pool{axes}d"
    example = f">>> pyburn.nn.functional.{name}(pyburn.ones(1, 1{', 4' * axes}), 2){'[1]' if always else ''}.shape"
    where = "and where in its plane it is, whatever return_indices says" if always else "with return_indices also where in its plane it is"
    return _named(max_pool, name, f"The largest element of each window{',' if always else ';'} {where}.\n\n{example}")


def _filled(input: Any, output_size: Any, axes: int) -> Any:
    """Returns output_size with None replaced by the size of the input."""
    if output_size is None:
        return input.shape[-axes:]
    if isinstance(output_size, (tuple, list)) and None in output_size and len(output_size) == axes:
        return [extent if wanted is None else wanted for wanted, extent in zip(output_size, input.shape[-axes:])]
    return output_size


def _adaptive_avg_pool(axes: int) -> Callable[..., Any]:
    plain = getattr(_core, f"adaptive_avg_pool{axes}d")

    def adaptive_avg_pool(input: Any, output_size: Any) -> Any:
        return plain(input, _filled(input, output_size, axes))

    example = f">>> pyburn.nn.functional.adaptive_avg_pool{axes}d(pyburn.ones(1, 1{', 4' * axes}), 2).shape"
    doc = f"The means of as many windows as output_size says; None keeps the extent of an axis.\n\n{example}"
    return _named(adaptive_avg_pool, f"adaptive_avg_pool{axes}d", doc)


def _adaptive_max_pool(axes: int) -> Callable[..., Any]:
    both = getattr(_core, f"adaptive_max_pool{axes}d")

    def adaptive_max_pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        results = both(input, _filled(input, output_size, axes))
        return results if return_indices else results[0]

    example = f">>> pyburn.nn.functional.adaptive_max_pool{axes}d(pyburn.ones(1, 1{', 4' * axes}), 2).shape"
    return _named(
        adaptive_max_pool, f"adaptive_max_pool{axes}d", f"The largest elements of as many windows as output_size says.\n\n{example}"
    )


def _fractional_max_pool(axes: int) -> Callable[..., Any]:
    both = getattr(_core, f"fractional_max_pool{axes}d_with_indices")

    def fractional_max_pool(
        input: Any,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:
        results = both(input, kernel_size, output_size, output_ratio, _random_samples)
        return results if return_indices else results[0]

    example = f">>> pyburn.nn.functional.fractional_max_pool{axes}d(pyburn.ones(1, 1{', 5' * axes}), 2, 3).shape"
    doc = f"The largest elements of windows at random places; with return_indices also where in their planes they are.\n\n{example}"
    return _named(fractional_max_pool, f"fractional_max_pool{axes}d", doc)


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


max_pool1d, max_pool2d, max_pool3d = (_max_pool(axes) for axes in (1, 2, 3))
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = (_max_pool(axes, always=True) for axes in (1, 2, 3))
adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg_pool(axes) for axes in (2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max_pool(axes) for axes in (1, 2, 3))
fractional_max_pool2d, fractional_max_pool3d = (_fractional_max_pool(axes) for axes in (2, 3))
