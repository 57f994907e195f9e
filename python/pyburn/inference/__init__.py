"""Models as graphs: captured once, saved to a file, run from Python or C++ without Python code."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from .._core import Graph, Profile, Session, SessionContext, Tensor
from ..control_flow import as_size, cond, scan, while_loop
from ..nn import Module

__all__ = ["Graph", "Profile", "Session", "SessionContext", "as_size", "capture", "compile", "cond", "load", "scan", "while_loop"]


Dynamic = Mapping[int | str, Mapping[int, str] | Sequence[int]]


def capture(
    function: Callable[..., Any],
    *examples: Tensor,
    dynamic: Dynamic | None = None,
    simplify: bool = True,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Graph:
    """Records the operations of a function on tensors like the examples, as a Graph.

    Nothing is computed; only shapes and dtypes of the examples matter. Reading a value while capturing raises CaptureError, since a graph
    cannot depend on it.

    Args:
        function: A model or any function of tensors that returns one or several tensors.
        *examples: Example inputs.
        dynamic: The dimensions of inputs whose size may vary, by the input's position or parameter name. {0: {0: "batch", 2: "height"}}
            gives names, and sizes of one name are equal; {"x": [0]} is short for one size. The function is called at a few sizes, all
            multiples of the examples'.
        simplify: Whether to evaluate constant subexpressions, unless that takes more memory (quantized weights are kept), and to remove
            unused operations.
        input_names: Names of the inputs; default input0, input1, ...
        output_names: Names of the outputs; default output0, output1, ...

    Raises:
        ValueError: There is no example, or not a name for each input or output.
        TypeError: An example is not a Tensor.
        CaptureError: The function reads the value of a tensor, or does not follow the sizes that may vary.

    >>> graph = pyburn.inference.capture(lambda x: (x * 2).exp(), pyburn.ones(2, 3), dynamic={0: {0: "batch"}})
    >>> graph.operations
    ['mul', 'exp']
    """
    if not examples:
        raise ValueError("[capture] expected at least one example input")
    for i, example in enumerate(examples):
        if not isinstance(example, Tensor):
            raise TypeError(f"[capture] examples must be Tensors: got {type(example).__name__} as number {i}")
    names = _extent_names(function, examples, dynamic or {})
    called = list(input_names or (f"input{i}" for i in range(len(examples))))
    if len(called) != len(examples):
        raise ValueError(f"[capture] expected {len(examples)} input names: got {len(called)}")
    inputs = []
    for i, example in enumerate(examples):
        shape = [-1 if names[i][axis] else n for axis, n in enumerate(example.shape)]
        inputs.append((shape, example.dtype, called[i], names[i], tuple(example.shape)))
    constants = []
    if isinstance(function, Module):
        constants = [*function.named_parameters(), *function.named_buffers()]

    def call(values: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        result = function(*values)
        results = (result,) if isinstance(result, Tensor) else tuple(result)
        if output_names and len(results) != len(output_names):
            raise ValueError(f"[capture] expected {len(results)} output names: got {len(output_names)}")
        return results

    return _core._capture(_home(function, examples), inputs, call, constants, simplify, list(output_names or ()))


def _extent_names(function: Callable[..., Any], examples: Sequence[Tensor], dynamic: Dynamic) -> list[list[str]]:
    """Returns the name of the free extent for each dimension of each example; an empty string where the size is fixed."""
    names = [[""] * example.ndim for example in examples]
    parameters: list[str] = []
    if any(isinstance(key, str) for key in dynamic):
        parameters = list(inspect.signature(function.forward if isinstance(function, Module) else function).parameters)
    for key, axes in dynamic.items():
        place = parameters.index(key) if isinstance(key, str) and key in parameters else key
        if not isinstance(place, int) or not 0 <= place < len(examples):
            raise ValueError(f"[capture] dynamic names an input that is not there: got {key!r}, with {len(examples)} examples")
        for axis, name in axes.items() if isinstance(axes, Mapping) else ((axis, "n") for axis in axes):
            rank = examples[place].ndim
            if not -rank <= axis < rank:
                raise ValueError(f"[capture] dynamic names dimension {axis} of input {key!r}, which has {rank}")
            if not isinstance(name, str) or not name:
                raise TypeError(f"[capture] the name of a dynamic dimension must be a str: got {name!r}")
            names[place][axis] = name
    return names


def compile(
    model: Callable[..., Any],
    *examples: Tensor,
    dynamic: Dynamic | None = None,
    simplify: bool = True,
    device: Any = None,
    precision: Any = None,
) -> Session:
    """Captures a model and returns a Session that runs it without Python code.

    Args:
        model: A model or any function of tensors.
        *examples: Example inputs, as for capture.
        dynamic: As for capture.
        simplify: As for capture.
        device: The device; by default that of the model's weights, or of the examples if there are none.
        precision: "float16", "bfloat16", "float32" or such a dtype: what products, convolutions, attention and recurrent layers compute in
            and what their weights are kept in, rounded once. Sums, norms, activations, and what goes in and out keep their dtypes. Half
            precision halves the memory and the file of large weights. On the CPU it makes products of up to four rows faster, and others
            slower, because they are computed in float32 all the same. None keeps the dtypes of the model.

    Raises:
        DTypeError: precision is another dtype.

    >>> session = pyburn.inference.compile(lambda x: x.exp() + 1, pyburn.ones(2))
    >>> session(pyburn.zeros(2))
    tensor([2., 2.])
    """
    graph = capture(model, *examples, dynamic=dynamic, simplify=simplify)
    if precision is not None:
        graph = graph._with_precision(precision)
    return Session(graph, _home(model, examples) if device is None else device)


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

    >>> pyburn.inference.compile(lambda x: x * 2, pyburn.ones(2)).save("double.pbgraph")
    >>> pyburn.inference.load("double.pbgraph")(pyburn.ones(2))
    tensor([2., 2.])
    """
    target = _core._default_device() if device is None else device
    return _core._load_session(os.fspath(path), target)


def _save(self: Session, path: str | os.PathLike[str], packed: bool = True) -> None:
    """Saves the graph and its constants to a file.

    Args:
        path: The file.
        packed: Whether to save packed weights, too. They make the file two to five times as large. A process with the same kernels and
            instruction set maps them from the file instead of packing, which takes most of the time of loading; others ignore them.
    """
    self._save(os.fspath(path), packed)


def _profile(self: Session, *inputs: Tensor, runs: int = 20) -> Profile:
    """Runs the session several times and measures each step.

    Args:
        *inputs: The inputs of the runs.
        runs: How many runs to measure; times are medians.

    Returns:
        A Profile: `print(profile)` shows the slowest steps, `profile.save_chrome_trace(path)` writes a timeline. Where sizes or branches
        depend on values, the operations that wait for them are steps of their own, and loops call a step several times per run.

    Raises:
        UnsupportedOp: The device has decorators, so that there are no prepared steps.
    """
    return self._profile(inputs, runs)


def _save_chrome_trace(self: Profile, path: str | os.PathLike[str]) -> None:
    """Writes the last run as a timeline for chrome://tracing or Perfetto."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(self._chrome_trace())


def _plot(self: Graph | Session, path: str | os.PathLike[str] | None = None) -> str:
    """Draws the graph as SVG.

    Args:
        path: Where to write the drawing; None for no file.

    Returns:
        The SVG text. In a notebook, a Graph shows its drawing by itself.
    """
    drawing = (self.graph if isinstance(self, Session) else self).to_svg()
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(drawing)
    return drawing


def _summary(self: Session, *inputs: Tensor) -> str:
    """Describes what runs for inputs of these shapes: operations, kernels, and memory next to its lower bound."""
    return self._summary(inputs)


Graph.plot = Session.plot = _plot  # type: ignore[method-assign]
Session.profile = _profile  # type: ignore[method-assign]
Session.summary = _summary  # type: ignore[method-assign]
Profile.save_chrome_trace = _save_chrome_trace  # type: ignore[method-assign]
Session.save = _save  # type: ignore[method-assign]
