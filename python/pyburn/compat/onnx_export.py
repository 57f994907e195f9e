"""torch.onnx.export over pyburn.onnx.export."""

from __future__ import annotations

import enum
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import onnx
from .._core import Tensor
from ..nn import Module

__all__ = ["TrainingMode", "export"]


class TrainingMode(enum.Enum):
    """The mode in which torch.onnx.export captures a model.

    >>> TrainingMode.EVAL.value
    0
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: onnx._export.DynamicAxes | None = None,
    external_data: bool = False,
    training: TrainingMode = TrainingMode.EVAL,
    **ignored: Any,
) -> None:
    """Exports a model as PyTorch's exporter does: inputs are named after the parameters of forward.

    Args:
        model: A module or a function.
        args: The example inputs: a tensor or a tuple; arguments that are not tensors become constants.
        f: A path or a binary file.
        kwargs: Further example inputs by name.
        input_names: Names of the inputs; default the parameters of forward.
        output_names: Names of the outputs.
        opset_version: Version of the ONNX operator set; default 20.
        dynamic_axes: Dimensions whose size may vary, by input name.
        external_data: Whether weights go to a second file. PyTorch's default is True.
        training: Only TrainingMode.EVAL is supported for modules.
        **ignored: Options that do not change what is computed (verbose, export_params, do_constant_folding, dynamo ...).

    Raises:
        NotImplementedError: For options that change the result: dynamic_shapes, custom_opsets, custom_translation_table, training modes.

    >>> export(pyburn.nn.Linear(2, 3), pyburn.ones(1, 2), "linear.onnx", dynamic_axes={"input": {0: "batch"}})
    """
    for name in ("dynamic_shapes", "custom_opsets", "custom_translation_table"):
        if ignored.get(name):
            raise NotImplementedError(f"torch.onnx.export: {name} is not supported; use dynamic_axes")
    if training is not TrainingMode.EVAL and isinstance(model, Module) and model.training:
        raise NotImplementedError(
            "torch.onnx.export: models are exported in inference mode; pass a function that returns the training step"
        )
    positional = (args,) if isinstance(args, Tensor) else tuple(args)
    names = list(input_names or ())
    if kwargs or not all(isinstance(value, Tensor) for value in positional):
        model, positional = _of_tensors(model, positional, dict(kwargs or {}))
    elif not names:
        names = _names(model, len(positional))
    options: dict[str, Any] = {
        "input_names": names or None,
        "output_names": output_names,
        "dynamic_axes": dynamic_axes,
        "opset": opset_version or 20,
    }
    if f is None or hasattr(f, "write"):
        content = onnx.export(model, positional, **options)
        if f is not None:
            f.write(content)
    else:
        onnx.export(model, positional, f, external_data=external_data, **options)


def _names(model: Any, count: int) -> list[str]:
    """Returns the names of the first parameters of a model, or nothing if it takes any number of them."""
    parameters = list(inspect.signature(model.forward if isinstance(model, Module) else model).parameters.values())[:count]
    plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    return [p.name for p in parameters] if plain and len(parameters) == count else []


class _Call(Module):
    """A call of a model in which only tensors vary."""

    def __init__(self, model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.arguments, self.named = model, args, kwargs

    def forward(self, *tensors: Tensor) -> Any:
        given = iter(tensors)
        args = [next(given) if isinstance(value, Tensor) else value for value in self.arguments]
        return self.model(*args, **{name: next(given) if isinstance(value, Tensor) else value for name, value in self.named.items()})


def _of_tensors(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Module, tuple[Tensor, ...]]:
    return _Call(model, args, kwargs), tuple(value for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
