"""The devices that are tested, and what PyTorch gave for the samples. The rest is pyburn.testing.conformance."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import _core
from pyburn.testing.conformance.calls import all_samples, dtypes_of, has_float64
from pyburn.testing.conformance.samples import Sample

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "ops"
SAMPLES = all_samples()


def _devices() -> list[str]:
    """The leaves that have values, and every decorator but autodiff (which is around all of them) on the cpu."""
    usable = [b for b in _core._backends() if not b["unavailable"]]
    decorators = [b["name"] for b in usable if b["decorator"] and b["name"] != "autodiff"]
    inside = {"router": "numpy, cpu"}  # it needs two
    return ["cpu", "numpy", *(f"{name}({inside.get(name, 'cpu')})" for name in decorators)]


def _late_leaf() -> list[str]:
    """The asynchronous leaf of the tests, plain and fused, where it was built (`make test` names it)."""
    path = os.environ.get("PYBURN_LATE_LEAF")
    if not path:
        return []
    pyburn.load_library(path)
    return ["late", "fusion(late)"]


def _gpu() -> list[str]:
    """The GPU backend, on hardware or on software that stands in for it. Without an adapter test_wgpu.py says that it was skipped."""
    try:
        pyburn.device("wgpu")
    except pyburn.DeviceError:
        return []
    return ["wgpu"]


# `make test-torch` and `make test-wgpu` name their devices, separated by semicolons.
_NAMED = os.environ.get("PYBURN_CONFORMANCE_DEVICES")
DEVICES = _NAMED.split(";") if _NAMED else [*_devices(), *_late_leaf(), *_gpu()]
WITH_FLOAT64 = [device for device in DEVICES if has_float64(device)]


def skip_without(device: str, dtype: Any) -> None:
    """Skips a test on devices that cannot store the dtype."""
    if str(dtype).removeprefix("pyburn.") not in dtypes_of(device):
        pytest.skip(f"the device has no {dtype}")


@cache
def _goldens(op: str) -> dict[str, Any]:
    with np.load(GOLDEN / f"{op}.npz") as file:
        return dict(file)


def golden(sample: Sample) -> dict[str, Any]:
    """What PyTorch gave: value, dtype (and value1, dtype1, ... of further results), grad0, ..., after0, ..."""
    arrays = _goldens(sample.op)
    i = arrays["lines"].tolist().index(sample.line)
    return {key.split(".")[1]: a for key, a in arrays.items() if key.startswith(f"{i}.")}


def golden_lines(op: str) -> list[str]:
    return _goldens(op)["lines"].tolist() if (GOLDEN / f"{op}.npz").exists() else []
