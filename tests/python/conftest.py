"""What the tests of several files begin with."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import pyburn
import pyburn.compat


@pytest.fixture
def torch() -> Iterator[Any]:
    """pyburn under the name of PyTorch."""
    pyburn.compat.install()
    try:
        yield importlib.import_module("torch")
    finally:
        pyburn.compat.uninstall()


@pytest.fixture(scope="module")
def gpu() -> pyburn.Device:
    """The GPU, or the software that stands in for one."""
    try:
        return pyburn.device("wgpu")
    except pyburn.DeviceError as reason:
        pytest.skip(f"THE GPU BACKEND IS NOT TESTED: {reason}")
