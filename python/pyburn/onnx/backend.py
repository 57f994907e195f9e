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
        return tuple(_to_array(v) for v in (result if len(self.model.outputs) != 1 else (result,)))


def _to_value(value: Any, device: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_to_value(v, device) for v in value]
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return array
    tensor = from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    return tensor if device is None else tensor.to(device)


def _to_array(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_array(v) for v in value]
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else value
