"""Models as graphs: captured once, saved to a file, run from Python or C++ without Python code."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from .._core import Graph, Session, Tensor
from ..nn import Module

__all__ = ["Graph", "Session", "capture", "compile", "load"]


def capture(
    function: Callable[..., Any], *examples: Tensor, free_axes: Mapping[int, Sequence[int]] | None = None, simplify: bool = True
) -> Graph:
    """Records the operations of a function on tensors like the examples, as a Graph.

    Nothing is computed; only shapes and dtypes of the examples matter. Reading a value while capturing raises CaptureError, since a graph
    cannot depend on it.

    Args:
        function: A model or any function of tensors that returns one or several tensors.
        *examples: Example inputs.
        free_axes: The dimensions of inputs whose size may vary, such as {0: [0]} for the batch dimension of the first input. All of them
            share one size.
        simplify: Whether to evaluate constant subexpressions, unless that takes more memory (quantized weights are kept), and to remove
            unused operations.

    Raises:
        ValueError: There is no example.
        TypeError: An example is not a Tensor.
        CaptureError: The function reads the value of a tensor.

    >>> graph = pyburn.inference.capture(lambda x: (x * 2).exp(), pyburn.ones(2, 3), free_axes={0: [0]})
    >>> graph.operations
    ['mul', 'exp']
    """
    if not examples:
        raise ValueError("[capture] expected at least one example input")
    for i, example in enumerate(examples):
        if not isinstance(example, Tensor):
            raise TypeError(f"[capture] examples must be Tensors: got {type(example).__name__} as number {i}")
    free = {i: {a % max(examples[i].ndim, 1) for a in axes} for i, axes in (free_axes or {}).items()}
    inputs = []
    for i, example in enumerate(examples):
        shape = [-1 if axis in free.get(i, ()) else n for axis, n in enumerate(example.shape)]
        inputs.append((shape, example.dtype, f"input{i}"))
    constants = []
    if isinstance(function, Module):
        constants = [*function.named_parameters(), *function.named_buffers()]

    def call(values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        result = function(*values)
        return (result,) if isinstance(result, Tensor) else tuple(result)

    return _core._capture(_home(function, examples), inputs, call, constants, simplify)


def compile(
    model: Callable[..., Any],
    *examples: Tensor,
    free_axes: Mapping[int, Sequence[int]] | None = None,
    simplify: bool = True,
    device: Any = None,
) -> Session:
    """Captures a model and returns a Session that runs it without Python code.

    Args:
        model: A model or any function of tensors.
        *examples: Example inputs, as for capture.
        free_axes: As for capture.
        simplify: As for capture.
        device: The device; by default that of the model's weights, or of the examples if there are none.
    """
    return Session(capture(model, *examples, free_axes=free_axes, simplify=simplify), _home(model, examples) if device is None else device)


def _home(function: Callable[..., Any], examples: Sequence[Tensor]) -> Any:
    """Returns the device of a model's weights, else that of the examples. Examples may be on another device than the model."""
    if isinstance(function, Module):
        for tensor in itertools.chain(function.parameters(), function.buffers()):
            return tensor.device
    return examples[0].device


def load(path: str | os.PathLike[str], device: Any = None) -> Session:
    """Loads a saved graph as a Session.

    Args:
        path: The file.
        device: The device; None for the default one.

    Returns:
        A Session that runs the graph.
    """
    target = _core._default_device() if device is None else device
    return Session(_core._load_graph(os.fspath(path), target), target)


def _run(self: Session, *inputs: Tensor) -> Any:
    """Runs the graph; returns a tensor, or a tuple if there are several outputs."""
    result = self._run(inputs)
    return result[0] if len(result) == 1 else result


def _save(self: Session, path: str | os.PathLike[str]) -> None:
    """Saves the graph and its constants to a file."""
    self.graph.save(os.fspath(path))


Session.run = Session.__call__ = _run  # type: ignore[method-assign]
Session.save = _save  # type: ignore[attr-defined]
