"""Keras's `config`: global settings. Layers default to one data format and one dtype."""

from __future__ import annotations

import pyburn

from .configured import public
from .dtype_policies import dtype_policy as dtype_policy
from .dtype_policies import set_dtype_policy as set_dtype_policy

_epsilon = 1e-7


def backend() -> str:
    """Returns the name of the backend library.

    >>> p_vision.config.backend()
    'pyburn'
    """
    return "pyburn"


def epsilon() -> float:
    """Returns the small constant that avoids division by zero and log(0).

    >>> p_vision.config.epsilon()
    1e-07
    """
    return _epsilon


def set_epsilon(value: float) -> None:
    """Sets the small constant that `epsilon` returns.

    Args:
        value: The constant.

    >>> p_vision.config.set_epsilon(1e-7)
    """
    global _epsilon
    _epsilon = float(value)


def floatx() -> str:
    """Returns the default dtype of weights.

    >>> p_vision.config.floatx()
    'float32'
    """
    return pyburn.get_default_dtype().name


def set_floatx(value: str) -> None:
    """Sets the default dtype of weights.

    Args:
        value: The name of a floating dtype.

    Raises:
        ValueError: The dtype is not floating point.

    >>> p_vision.config.set_floatx("float32")
    """
    from .conversion import dtype_of

    dtype = dtype_of(value)
    if dtype is None or not dtype.is_floating_point:
        raise ValueError(f"[set_floatx] expected the name of a floating dtype: got {value!r}")
    pyburn.set_default_dtype(dtype)


def image_data_format() -> str:
    """Returns the default data format of images.

    >>> p_vision.config.image_data_format()
    'channels_last'
    """
    return "channels_last"


def set_image_data_format(data_format: str) -> None:
    """Accepts only "channels_last": set data_format="channels_first" on each layer instead.

    Args:
        data_format: The data format.

    Raises:
        ValueError: The format is another one.

    >>> p_vision.config.set_image_data_format("channels_last")
    """
    if data_format != "channels_last":
        raise ValueError("[set_image_data_format] layers use channels last: pass data_format='channels_first' to each layer instead")


def disable_interactive_logging() -> None:
    """Has no effect: progress bars are only drawn on terminals."""


enable_interactive_logging = disable_traceback_filtering = enable_traceback_filtering = disable_interactive_logging


def is_interactive_logging_enabled() -> bool:
    """Returns whether progress bars are drawn: on terminals.

    >>> p_vision.config.is_interactive_logging_enabled() in (True, False)
    True
    """
    import sys

    return sys.stdout.isatty()


__all__ = public(globals(), "dtype_policy", "set_dtype_policy")
