"""ONNX files as models with Keras's interface."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyburn import onnx

from .devices import resolve
from .model import Model

__all__ = ["OnnxModel", "load_onnx"]


class OnnxModel(Model):
    """An ONNX model that is trained and used like any other model.

    Args:
        network: The model, from `pyburn.onnx.load`.
        backend: The backend or device of the weights.
        name: The name of the model.

    >>> import pyburn
    >>> content = pyburn.onnx.export(pyburn.nn.Linear(4, 3), pyburn.ones(1, 4), dynamic_axes={"input0": {0: "batch"}})
    >>> model = p_vision.OnnxModel(pyburn.onnx.load(content))
    >>> model.predict(pyburn.ones(2, 4), verbose=0).shape
    (2, 3)
    """

    def __init__(self, network: onnx.Model, *, backend: Any = None, name: str | None = None) -> None:
        super().__init__(name=name, backend=backend)
        self.network = network
        self.built = True
        if backend is not None:
            self.backend = backend

    def call(self, inputs: Any) -> Any:
        """Runs the network.

        Args:
            inputs: A tensor, a list in the order of the model's inputs, or a dict by their names.

        Returns:
            The output, or a list of outputs.
        """
        if isinstance(inputs, Mapping):
            return self.network(*[inputs[value.name] for value in self.network.inputs])
        return self.network(*inputs) if isinstance(inputs, (list, tuple)) else self.network(inputs)


def load_onnx(path: str | os.PathLike[str] | bytes, backend: Any = None, name: str | None = None) -> OnnxModel:
    """Loads an ONNX file as a model: the architecture and weights of the file, with compile, fit, predict and summary.

    Args:
        path: The path of the file, or its bytes.
        backend: The backend or device of the weights; it can be changed later with `model.backend = ...`.
        name: The name of the model; default the name of the file.

    Returns:
        The model. All its floating-point initializers are trainable.

    Raises:
        UnsupportedOp: The model needs operators that pyburn does not have; the message lists all of them.

    >>> import pyburn
    >>> content = pyburn.onnx.export(pyburn.nn.Linear(4, 3), pyburn.ones(1, 4))
    >>> p_vision.load_onnx(content, backend="NdArray", name="tiny").name
    'tiny'
    """
    device = None if backend is None else resolve(backend)
    network = onnx.load(path, device)
    stem = name or (
        "onnx_model" if isinstance(path, bytes) else "".join(c if c.isalnum() else "_" for c in Path(path).stem) or "onnx_model"
    )
    return OnnxModel(network, backend=backend, name=stem)
