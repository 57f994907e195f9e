"""Models as graphs: captured once, saved to one file, run from Python or from C++ alone."""

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
    """What `function` does to tensors like the examples, as a Graph. Nothing is computed; only shapes and dtypes count.

    `function` is a model or any function of tensors that gives a tensor or several. `free_axes` says which axes of which
    input may have another extent later, e.g. {0: [0]} for the batch of the first input; all of them share one number.
    Reading a value while capturing raises CaptureError: a graph cannot depend on it.

    What depends on constants alone is computed unless that takes more memory (quantised weights stay as they are), and what nobody reads
    is dropped; simplify=False returns the graph as recorded.

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
    """A Session that does what `model` does, without Python inside. Arguments as for capture.

    It runs on `device`: without one, on that of the model's weights, or of the examples where there are none.
    """
    return Session(capture(model, *examples, free_axes=free_axes, simplify=simplify), _home(model, examples) if device is None else device)


def _home(function: Callable[..., Any], examples: Sequence[Tensor]) -> Any:
    """The device of a model's weights. Of the examples only shapes and dtypes count, so they may be elsewhere."""
    if isinstance(function, Module):
        for tensor in itertools.chain(function.parameters(), function.buffers()):
            return tensor.device
    return examples[0].device


def load(path: str | os.PathLike[str], device: Any = None) -> Session:
    """The Session of a graph that was saved to a file."""
    target = _core._default_device() if device is None else device
    return Session(_core._load_graph(os.fspath(path), target), target)


def _run(self: Session, *inputs: Tensor) -> Any:
    """Runs the graph; gives a tensor, or a tuple where there are several outputs."""
    result = self._run(inputs)
    return result[0] if len(result) == 1 else result


def _save(self: Session, path: str | os.PathLike[str]) -> None:
    """Writes the graph and its constants to one file."""
    self.graph.save(os.fspath(path))


Session.run = Session.__call__ = _run  # type: ignore[method-assign]
Session.save = _save  # type: ignore[attr-defined]
