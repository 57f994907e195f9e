"""Models written as ONNX files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from .._core import Graph, Tensor
from ..inference import _home, capture
from ..nn import Module

__all__ = ["export"]

DynamicAxes = Mapping[str, Mapping[int, str] | Sequence[int]]


def export(
    model: Callable[..., Any] | Graph,
    examples: Tensor | Sequence[Tensor] = (),
    path: str | os.PathLike[str] | None = None,
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: DynamicAxes | None = None,
    opset: int = 20,
    external_data: bool = False,
) -> bytes | None:
    """Writes a model as an ONNX file that any ONNX runtime can run.

    The model is captured as a graph, in inference mode if it is a module. Parameters keep their names. Operations without an ONNX operator
    are replaced by their decompositions.

    Args:
        model: A module, a function of tensors, or a Graph.
        examples: One or several example inputs; only their shapes and dtypes matter. Not needed for a Graph.
        path: The file to write. None returns the file's content as bytes.
        input_names: Names of the inputs; default input0, input1, ...
        output_names: Names of the outputs; default output0, output1, ...
        dynamic_axes: Dimensions of inputs whose size may vary, by input name: {"input0": {0: "batch"}}, or {"input0": [0]} without names of
            their own. Names of outputs are accepted and ignored: their shapes follow.
        opset: Version of the ONNX operator set, 17 to 23.
        external_data: Whether to write the weights to a second file, `path` + ".data". Weights of more than 1 GiB always are.

    Returns:
        The content of the file if path is None, else None.

    Raises:
        ValueError: There is no example, a name is unknown or given twice, or the opset is not supported.
        CaptureError: The model depends on the values of its inputs.
        UnsupportedOp: Operations that cannot be expressed in ONNX, all of them with the reason.

    >>> model = pyburn.nn.Linear(3, 2)
    >>> content = pyburn.onnx.export(model, pyburn.ones(1, 3), dynamic_axes={"input0": {0: "batch"}})
    >>> type(content)
    <class 'bytes'>
    """
    inputs = (examples,) if isinstance(examples, Tensor) else tuple(examples)
    if isinstance(model, Graph):
        graph, device = model, _core._default_device()
    else:
        names = list(input_names or (f"input{i}" for i in range(len(inputs))))
        if len(names) != len(inputs):
            raise ValueError(f"[onnx.export] expected {len(inputs)} input names: got {len(names)}")
        graph = _captured(model, inputs, _dynamic(dynamic_axes or {}, names, output_names or ()))
        device = _home(model, inputs)
    arguments = (opset, list(input_names or ()), list(output_names or ()))
    if path is not None:
        _core._onnx_save(graph, device, os.fspath(path), *arguments, "main_graph", external_data)
        return None
    if external_data:
        raise ValueError("[onnx.export] external_data needs a path")
    return _core._onnx_bytes(graph, device, *arguments, "main_graph")


def _captured(model: Callable[..., Any], inputs: tuple[Tensor, ...], dynamic: dict[int | str, dict[int, str]]) -> Graph:
    if not isinstance(model, Module):
        return capture(model, *inputs, dynamic=dynamic)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        return capture(model, *inputs, dynamic=dynamic)
    finally:
        for module, training in modes:
            module.training = training


def _dynamic(axes: DynamicAxes, inputs: Sequence[str], outputs: Sequence[str]) -> dict[int | str, dict[int, str]]:
    """Returns capture's form: by the position of the input, with a name for each dimension."""
    dynamic: dict[int | str, dict[int, str]] = {}
    for name, given in axes.items():
        if name in inputs:
            named = given if isinstance(given, Mapping) else {axis: f"{name}_dynamic_axes_{i + 1}" for i, axis in enumerate(given)}
            dynamic[inputs.index(name)] = dict(named)
        elif outputs and name not in outputs:
            raise ValueError(f"[onnx.export] dynamic_axes names neither an input nor an output: got {name!r}")
    return dynamic
