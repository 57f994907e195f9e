"""What scripts ask about CUDA: there is none."""

from __future__ import annotations

from typing import Any

from ._device import synchronize as _synchronize
from .amp import GradScaler, autocast

__all__ = ["GradScaler", "autocast", "device_count", "empty_cache", "is_available", "is_bf16_supported", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """False.

    >>> pyburn.device("cuda" if pyburn.cuda.is_available() else "cpu").type
    'cpu'
    """
    return False


def device_count() -> int:
    """0.

    >>> pyburn.cuda.device_count()
    0
    """
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False.

    >>> pyburn.cuda.is_bf16_supported()
    False
    """
    return False


def manual_seed(seed: int) -> None:
    """Does nothing: pyburn.manual_seed holds for every device.

    >>> pyburn.cuda.manual_seed(0)
    """


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Does nothing.

    >>> pyburn.cuda.empty_cache()
    """


def synchronize(device: Any = None) -> None:
    """pyburn.synchronize, for scripts that measure time; the number of a CUDA device stands for the default device.

    >>> pyburn.cuda.synchronize()
    """
    _synchronize(None if isinstance(device, int) else device)
