"""Backends by name: the members of the enumeration, what is available here, and the device that a name means.

>>> from p_vision import backend
>>> backend.resolve(backend.NDARRAY)
device('autodiff(ndarray)')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyburn
from pyburn import BackendKind

if TYPE_CHECKING:
    from pyburn._types import DeviceLike

WGPUDEVICE = BackendKind.WGPUDEVICE
FUSIONJITBACKEND = BackendKind.FUSIONJITBACKEND
PYTORCH = BackendKind.PYTORCH
NDARRAY = BackendKind.NDARRAY

__all__ = ["FUSIONJITBACKEND", "NDARRAY", "PYTORCH", "WGPUDEVICE", "available", "resolve"]


def available() -> list[str]:
    """The names that can be used here; decorators, which stand around another name, are written as `fusion(...)`."""
    return [f"{row.name}(...)" if row.decorator else row.name for row in pyburn.backends() if row.available]


def resolve(backend: DeviceLike | None) -> pyburn.Device:
    """The device of a name in any case, a member of the enumeration or a device; the default one for None."""
    if backend is None:
        return pyburn.get_default_device()
    try:
        return pyburn.Device(backend)
    except pyburn.DeviceError as error:
        raise pyburn.DeviceError(f"{error}; available here: {', '.join(available())}") from None


def __getattr__(name: str) -> Any:
    """What Keras's programs ask its `backend` for: `epsilon()`, `floatx()`, `clear_session()` ..."""
    from . import config, utils

    if name in config.__all__:
        return getattr(config, name)
    if name in ("clear_session", "is_keras_tensor", "standardize_dtype"):
        return getattr(utils, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
