"""The adapters of the GPU backend, and what its devices have done."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

from .. import _core


class Adapter(NamedTuple):
    """A GPU, or software that stands in for one. The adapter with index ``i`` is the device ``wgpu:i``."""

    name: str
    driver: str
    kind: str  #: ``discrete GPU``, ``integrated GPU``, ``software`` or ``unknown``
    api: str  #: ``Vulkan``, ``Metal`` or ``D3D12``
    largest_tensor: int  #: bytes


class Counters(NamedTuple):
    """What a GPU device has done since it was opened."""

    dispatches: int  #: kernels that were run
    submissions: int  #: batches of dispatches
    pipelines: int  #: shaders that were compiled
    host_calls: int  #: operations that ran on the CPU, on copies, because they have no kernel
    uploaded: int  #: bytes
    downloaded: int  #: bytes
    reads: int  #: elements that kernels read; counted if the environment variable ``PYBURN_WGPU_COUNT_READS`` is set


def _library() -> str:
    """Returns the path of the library that the package ``wgpu`` carries, without importing the package; empty without it."""
    package = importlib.util.find_spec("wgpu")
    for folder in (package and package.submodule_search_locations) or ():
        for path in Path(folder).glob("resources/*wgpu_native-release.*"):
            return str(path)
    return ""


def adapters() -> list[Adapter]:
    """Returns the adapters of this machine, fastest kind first.

    Returns:
        A tuple per adapter: name, driver, kind, api and largest_tensor in bytes.

    Raises:
        DeviceError: The library wgpu-native is missing.

    Example:
        >>> all(adapter.name for adapter in pyburn.backend.gpu.adapters())  # doctest: +SKIP
        True
    """
    return [Adapter(**row) for row in _core._gpu_adapters()]


def counters(device: Any = "wgpu") -> Counters:
    """Returns what a GPU device has done since it was opened.

    Args:
        device: A device on ``wgpu``, plain or inside decorators.

    Returns:
        Counts of dispatches, submissions, pipelines, host_calls and transferred bytes.

    Raises:
        ValueError: The device is not a GPU device.

    Example:
        >>> pyburn.backend.gpu.counters("wgpu").downloaded  # doctest: +SKIP
        0
    """
    row = _core._gpu_counters(device)
    if row is None:
        raise ValueError(f"expected a device on wgpu: got {device}")
    return Counters(**row)
