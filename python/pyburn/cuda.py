"""CUDA queries of PyTorch programs: there is no CUDA device."""

from __future__ import annotations

from typing import Any

from ._device import synchronize as _synchronize
from .amp import GradScaler, autocast

__all__ = ["GradScaler", "autocast", "device_count", "empty_cache", "is_available", "is_bf16_supported", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Returns False.

    >>> pyburn.device("cuda" if pyburn.cuda.is_available() else "cpu").type
    'cpu'
    """
    return False


def device_count() -> int:
    """Returns 0.

    >>> pyburn.cuda.device_count()
    0
    """
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Returns False.

    Args:
        including_emulation: Ignored.

    >>> pyburn.cuda.is_bf16_supported()
    False
    """
    return False


def manual_seed(seed: int) -> None:
    """Has no effect: pyburn.manual_seed applies to every device.

    Args:
        seed: Ignored.

    >>> pyburn.cuda.manual_seed(0)
    """


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Has no effect.

    >>> pyburn.cuda.empty_cache()
    """


def synchronize(device: Any = None) -> None:
    """Calls pyburn.synchronize.

    Args:
        device: The device; an integer means the default device.

    >>> pyburn.cuda.synchronize()
    """
    _synchronize(None if isinstance(device, int) else device)
