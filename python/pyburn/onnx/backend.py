"""The interface of onnx.backend.base.Backend: ONNX's own test suite, and programs written against it, run on pyburn.

The functions need the package `onnx` for nothing but the messages that they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor, bfloat16, uint16
from ..autograd import no_grad
from ..tensor import from_numpy
from ._model import load

__all__ = ["PreparedModel", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]


class PreparedModel:
    """A model that runs on NumPy arrays.

    Args:
        model: A pyburn.onnx.Model.

    >>> prepared = pyburn.onnx.backend.prepare(onnx.load("model.onnx"))  # doctest: +SKIP
    >>> prepared.run([array])  # doctest: +SKIP
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """Runs the model and returns its outputs as NumPy arrays.

        Args:
            inputs: Arrays, in order; lists of them for sequences, None for empty optionals.
            **options: Ignored.
        """
        given = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        parameter = next(iter(self.model.parameters()), None)
        device = None if parameter is None else parameter.device
        with no_grad():
            result = self.model(*(_to_value(v, device) for v in given))
        results = result if len(self.model.outputs) != 1 else (result,)
        return tuple(_to_array(v, info.dtype) for v, info in zip(results, self.model.outputs, strict=True))


# Element types that NumPy has from ml_dtypes. Floats are held as codes, integers one in each int8 or uint8.
_CODES = {
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
}
_SMALL_INTEGERS = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}


def _tensor_of(array: Any) -> Tensor:
    name = array.dtype.name
    if name == "bfloat16":
        return from_numpy(array.view(np.uint16)).view(bfloat16)
    if name in _SMALL_INTEGERS:
        return from_numpy(array.astype(_SMALL_INTEGERS[name]))
    return from_numpy(array.view(np.uint8) if name in _CODES.values() else array)


def _array_of(tensor: Tensor, element_type: str) -> Any:
    if tensor.dtype is bfloat16 or element_type in _CODES or element_type in _SMALL_INTEGERS:
        import ml_dtypes

        if tensor.dtype is bfloat16:
            return tensor.view(uint16).numpy().view(ml_dtypes.bfloat16)
        if element_type in _SMALL_INTEGERS:
            return tensor.numpy().astype(getattr(ml_dtypes, element_type))
        return tensor.numpy().view(getattr(ml_dtypes, _CODES[element_type]))
    return tensor.numpy()


def _to_value(value: Any, device: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, list | tuple):
        return [_to_value(v, device) for v in value]
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return array
    tensor = _tensor_of(array.copy(order="C"))
    return tensor if device is None else tensor.to(device)


def _to_array(value: Any, element_type: str = "") -> Any:
    if isinstance(value, list):
        return [_to_array(v) for v in value]
    return _array_of(value.detach().cpu(), element_type) if isinstance(value, Tensor) else value


def is_compatible(model: Any, device: str = "CPU", **options: Any) -> bool:
    """Returns whether a model runs here: its operators are all known.

    Args:
        model: The onnx.ModelProto.
        device: "CPU".
        **options: Ignored.

    >>> pyburn.onnx.backend.is_compatible(onnx.load("model.onnx"))  # doctest: +SKIP
    True
    """
    try:
        prepare(model, device)
    except (NotImplementedError, ValueError):
        return False
    return supports_device(device)


def prepare(model: Any, device: str = "CPU", **options: Any) -> PreparedModel:
    """Loads a model.

    Args:
        model: The onnx.ModelProto.
        device: "CPU", or the name of a device of pyburn.
        **options: Ignored.

    Returns:
        The model, whose method `run` takes arrays.

    >>> prepared = pyburn.onnx.backend.prepare(onnx.load("model.onnx"))  # doctest: +SKIP
    """
    return PreparedModel(load(model.SerializeToString(), device=_device(device)))


def run_model(model: Any, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
    """Loads a model and runs it once.

    Args:
        model: The onnx.ModelProto.
        inputs: As for PreparedModel.run.
        device: As for prepare.
        **options: Ignored.

    Returns:
        The outputs as arrays.

    >>> pyburn.onnx.backend.run_model(onnx.load("model.onnx"), [array])  # doctest: +SKIP
    """
    return prepare(model, device, **options).run(inputs)


def run_node(node: Any, inputs: Any, device: str = "CPU", outputs_info: Sequence[Any] | None = None, **options: Any) -> tuple[Any, ...]:
    """Runs a single node.

    Args:
        node: The onnx.NodeProto.
        inputs: One for each named input of the node.
        device: As for prepare.
        outputs_info: Ignored.
        **options: `opset_version` may say which version of the operator is meant; the newest otherwise.

    Returns:
        The outputs as arrays.

    >>> pyburn.onnx.backend.run_node(onnx.helper.make_node("Neg", ["x"], ["y"]), [np.float32([1.0])])  # doctest: +SKIP
    (array([-1.], dtype=float32),)
    """
    import onnx

    inputs = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
    names = [name for name in node.input if name]
    make = onnx.helper.make_tensor_value_info
    known = [make(n, onnx.helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype), np.shape(v)) for n, v in zip(names, inputs, strict=True)]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", known, outputs)
    version = options.get("opset_version", onnx.defs.onnx_opset_version())
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)])
    return run_model(model, inputs, device)


def supports_device(device: str) -> bool:
    """Returns whether the backend runs on a device.

    Args:
        device: "CPU", or the name of a device of pyburn.

    >>> pyburn.onnx.backend.supports_device("CPU")
    True
    """
    try:
        _device(device)
    except (RuntimeError, ValueError, TypeError):
        return False
    return True


def _device(name: str) -> Any:
    return _core.Device("cpu" if name.split(":", 1)[0].upper() == "CPU" else name)
