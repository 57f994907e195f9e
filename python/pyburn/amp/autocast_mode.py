"""autocast: a context manager and decorator for mixed precision."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, bfloat16, float16
from .._nested import mapped

_DTYPES = (float16, bfloat16)


def default_dtype(device_type: str) -> Any:
    """Returns the default dtype of autocast: bfloat16 on the CPU, float16 on GPUs, as in PyTorch."""
    return bfloat16 if device_type.lower() in ("cpu", "ndarray", "numpy", "torch", "meta", "null") else float16


class autocast:  # noqa: N801
    """Context manager and decorator: runs matrix products, convolutions, attention and recurrent layers in a lower dtype.

    Operations that need the precision (exp, log, pow, softmax, norms, sums, losses) run in float32; all others keep the dtype of their
    inputs. It applies to the operations of this thread on every device. Gradients have the dtype of their tensors.

    Args:
        device_type: The type of device; chooses the dtype if none is given.
        dtype: The lower dtype: bfloat16 or float16; others disable autocast with a warning.
        enabled: False disables autocast in the block.
        cache_enabled: Whether to cache the casts of parameters.

    Raises:
        ValueError: device_type is not a string.

    >>> import pyburn
    >>> layer = pyburn.nn.Linear(2, 3)
    >>> with pyburn.autocast("cpu", dtype=pyburn.bfloat16):
    ...     y = layer(pyburn.ones(4, 2))
    ...     loss = y.exp().sum()
    >>> y.dtype, loss.dtype
    (pyburn.bfloat16, pyburn.float32)
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = default_dtype(device_type) if dtype is None else dtype
        if enabled and self.fast_dtype not in _DTYPES:
            warnings.warn(
                f"In {device_type} autocast, but the target dtype is not supported: got {self.fast_dtype}. Disabling autocast. "
                "Supported dtypes are bfloat16 and float16.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._cache_enabled = _core._amp.mode()[2] if cache_enabled is None else cache_enabled
        self._previous: list[Any] = []

    def __enter__(self) -> autocast:
        dtype = self.fast_dtype if self._enabled else _core._amp.mode()[1]
        self._previous.append(_core._amp.enter(self._enabled, dtype, self._cache_enabled))
        return self

    def __exit__(self, *error: object) -> None:
        _core._amp.leave(*self._previous.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled):
                return function(*args, **kwargs)

        return wrapper


def is_autocast_available(device_type: str) -> bool:
    """Returns whether autocast supports a type of device: always True.

    Args:
        device_type: The type of device.

    >>> import pyburn
    >>> pyburn.amp.is_autocast_available("cpu")
    True
    """
    return isinstance(device_type, str)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Returns whether autocast is enabled in this thread.

    Args:
        device_type: Accepted for compatibility with PyTorch; has no effect.

    >>> import pyburn
    >>> pyburn.is_autocast_enabled()
    False
    """
    return _core._amp.mode()[0]


def get_autocast_dtype(device_type: str) -> Any:
    """Returns the lower dtype of autocast: that of the active block, else the default of the device type.

    Args:
        device_type: The type of device.

    >>> import pyburn
    >>> pyburn.get_autocast_dtype("cpu")
    pyburn.bfloat16
    """
    enabled, dtype, _ = _core._amp.mode()
    return dtype if enabled else default_dtype(device_type)


def clear_autocast_cache() -> None:
    """Clears the cache of cast parameters; the end of the outermost autocast block does so too.

    >>> import pyburn
    >>> pyburn.clear_autocast_cache()
    """
    _core._amp.clear_cache()


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """Decorates the forward of an autograd.Function: with `cast_inputs`, floating-point tensors are cast and autocast is disabled
    inside.

    Args:
        fwd: The forward; None for a decorator with options.
        device_type: The kind of device.
        cast_inputs: The dtype that floating-point tensors are cast to.

    >>> import pyburn
    >>> class Double(pyburn.autograd.Function):
    ...     @staticmethod
    ...     @pyburn.amp.custom_fwd(device_type="cpu", cast_inputs=pyburn.float32)
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @pyburn.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> with pyburn.autocast("cpu"):
    ...     Double.apply(pyburn.ones(1, dtype=pyburn.bfloat16)).dtype
    pyburn.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        if cast_inputs is None or not is_autocast_enabled():
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = mapped(lambda value: _cast(value, cast_inputs), (args, kwargs))
            return fwd(*args, **kwargs)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cpu") -> Any:
    """Decorates the backward of an autograd.Function. Has no effect, since backward passes never run under autocast.

    Args:
        bwd: The backward function; None returns a decorator.
        device_type: Accepted for compatibility with PyTorch; has no effect.

    Returns:
        The function, or a decorator.

    >>> import pyburn
    >>> pyburn.amp.custom_bwd(len) is len
    True
    """
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


def _cast(value: Any, dtype: Any) -> Any:
    casts = isinstance(value, Tensor) and value.is_floating_point() and value.dtype != _core.float64
    return value.to(dtype) if casts else value
