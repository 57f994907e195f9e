"""The interface of onnx.backend.base.Backend: ONNX's own test suite, and programs written against it, run on pyburn.

>>> prepared = pyburn.onnx.backend.prepare(onnx.load("model.onnx"))  # doctest: +SKIP
>>> prepared.run([array])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..tensor import from_numpy
from ._model import load

__all__ = ["PreparedModel", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class PreparedModel:
    """A model that runs on NumPy arrays."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """Runs the model.

        Args:
            inputs: Arrays, in order; lists of them for sequences, None for empty optionals.
            **options: Ignored.
        """
        given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        device = next(iter(self.model.parameters()), None)
        with _core.no_grad() if hasattr(_core, "no_grad") else _NoGrad():
            result = self.model(*(_to_value(v, device.device if device is not None else None) for v in given))
        results = result if len(self.model.outputs) != 1 else (result,)
        return tuple(_to_array(v, info.dtype) for v, info in zip(results, self.model.outputs))


def _to_value(value: Any, device: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_to_value(v, device) for v in value]
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return array
    if array.dtype.name == "bfloat16":
        tensor = from_numpy(np.ascontiguousarray(array).view(np.uint16)).view(_core.bfloat16)
    else:
        tensor = from_numpy(np.ascontiguousarray(_held(array)).reshape(array.shape))
    return tensor if device is None else tensor.to(device)


# Names of element types in ml_dtypes, where they have others.
_OTHER_NAMES = {
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
}
_SMALL_INTEGERS = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}


def _held(array: Any) -> Any:
    """An array of few bits as the dtype that holds it: integers as int8 or uint8, floats as codes."""
    name = array.dtype.name
    if name in _SMALL_INTEGERS:
        return array.astype(_SMALL_INTEGERS[name])
    return array.view(np.uint8) if name in _OTHER_NAMES.values() else array


def _to_array(value: Any, element_type: str = "") -> Any:
    if isinstance(value, list):
        return [_to_array(v) for v in value]
    if not isinstance(value, Tensor):
        return value
    value = value.detach().cpu()
    if value.dtype is _core.bfloat16:
        import ml_dtypes

        return value.view(_core.uint16).numpy().view(ml_dtypes.bfloat16)
    array = value.numpy()
    if element_type in _OTHER_NAMES or element_type in _SMALL_INTEGERS:
        import ml_dtypes

        if element_type in _SMALL_INTEGERS:
            return array.astype(getattr(ml_dtypes, element_type))
        return array.view(getattr(ml_dtypes, _OTHER_NAMES[element_type]))
    return array
