"""Model: an ONNX file as a module."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import _core
from .._core._onnx import Model
from ..nn import Module  # noqa: F401  # gives the classes of C++ their methods
from ._values import from_core, in_order, to_core

__all__ = ["Model", "ValueInfo", "load"]


class ValueInfo(NamedTuple):
    """An input or output of a model.

    `shape` has a name, or "", where a size is not known; it is None where the rank is not.
    """

    name: str
    type: str
    dtype: str
    shape: tuple[int | str, ...] | None


def _forward(self: Any, *inputs: Any, **named: Any) -> Any:
    """Runs the model.

    Args:
        *inputs: The inputs, in order: Tensors; arrays of strings, lists (sequences) or None (an empty optional) where the model says so.
        **named: The same by name.

    Returns:
        The output, or a tuple if there are several.
    """
    names = [name for name, *_ in self._pb_inputs]
    results = [from_core(value) for value in self._pb_run([to_core(v) for v in in_order(names, inputs, named, "the model")])]
    return results[0] if len(results) == 1 else tuple(results)


def _run(self: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Runs the model on inputs by name and returns the outputs by name.

    Args:
        inputs: The inputs by name.
    """
    values = in_order([value.name for value in self.inputs], (), dict(inputs), "the model")
    result = self(*values)
    return dict(zip([value.name for value in self.outputs], result if len(self.outputs) != 1 else (result,), strict=True))


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    twin = self._pb_twin()
    memo[id(self)] = twin
    twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
    return twin


def _reduce(self: Any, protocol: Any) -> tuple:
    return _reloaded, (self._pb_bytes,), self.__getstate__()


def _reloaded(data: bytes) -> Any:
    return _core._onnx.load(data, None)


Model.forward = _forward  # type: ignore[method-assign]
Model.run = _run  # type: ignore[attr-defined]
Model.__deepcopy__ = _deepcopy  # type: ignore[attr-defined]
Model.__reduce_ex__ = _reduce  # type: ignore[method-assign,assignment]
Model.inputs = property(lambda self: [ValueInfo(*row) for row in self._pb_inputs], doc="The inputs, as ValueInfo.")  # type: ignore[attr-defined]
Model.outputs = property(lambda self: [ValueInfo(*row) for row in self._pb_outputs], doc="The outputs, as ValueInfo.")  # type: ignore[attr-defined]


def load(source: str | os.PathLike[str] | bytes, device: Any = None) -> Any:
    """Loads an ONNX model as a module, in evaluation mode.

    Its parameters are the floating-point initializers of the file, under their names. It can be trained, moved, copied, captured and
    saved like any module.

    Args:
        source: The path of the file, or its bytes. Tensors in other files are looked for in the folder of the file.
        device: Where the parameters go; None for the default device.

    Raises:
        UnsupportedOp: The model needs operators that pyburn does not have; the message lists all of them.
        FormatError: The file is not an ONNX model, or is damaged.
    """
    return _core._onnx.load(source, device)
