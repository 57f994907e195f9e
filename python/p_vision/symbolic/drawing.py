"""Serialization of model graphs: layers, calls, inputs and outputs."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn._nested import leaves, mapped
from pyburn.nn import Module

from ..configured import Configured
from ..input import InputLayer
from ..layer import Layer
from .symbol import Symbol, symbolic_call


class PlainLayer(Configured):
    """The class and the options of a pyburn.nn layer in a saved graph.

    Args:
        kind: The name of the class.
        options: The arguments of its constructor.

    >>> p_vision.PlainLayer("Linear", {"in_features": 2, "out_features": 1}).kind
    'Linear'
    """

    def __init__(self, kind: str, options: dict[str, Any]) -> None:
        self.kind, self.options = kind, options

    @classmethod
    def from_config(cls, config: Any) -> Any:
        """Creates the module. Only layers that pyburn.nn creates from options are allowed.

        Args:
            config: The config of the layer.

        Returns:
            The module.

        Raises:
            FormatError: There is no such layer.
        """
        from pyburn.nn import _layers

        kind, options = config["kind"], config["options"]
        if kind not in _layers.__all__ or not isinstance(options, dict):
            raise pyburn.FormatError(f"[load] there is no layer {kind!r} in pyburn.nn")
        if kind == "Sequential":
            return _in_a_row(options)
        return getattr(_layers, kind)(**options)


def _in_a_row(parts: dict[str, Any]) -> Module:
    made = pyburn.nn.Sequential()
    for name, part in parts.items():
        if not isinstance(part, Module):
            raise pyburn.FormatError(f"[load] a part of a model is no layer: got {part!r}")
        made.add_module(name, part)
    return made


class BuiltLayer(Configured):
    """A p_vision layer outside of a graph, with the input shape that it was built for.

    Args:
        layer: The layer.
        shape: The input shape.

    >>> p_vision.BuiltLayer(p_vision.Dense(2), (None, 3)).shape
    (None, 3)
    """

    def __init__(self, layer: Layer, shape: Any) -> None:
        self.layer, self.shape = layer, shape

    @classmethod
    def from_config(cls, config: Any) -> Any:
        """Returns the layer, built.

        Args:
            config: The config of the layer.

        Raises:
            FormatError: The file describes something else.
        """
        layer = config["layer"]
        if not isinstance(layer, Layer):
            raise pyburn.FormatError(f"[load] a part of a model is no layer: got {layer!r}")
        layer.build_for(config["shape"])
        return layer


def part_config(layer: Any) -> Any:
    """Returns the representation of a layer in a config."""
    if isinstance(layer, Configured):
        return layer
    from pyburn.nn import _layers

    kind = type(layer).__name__
    if isinstance(layer, pyburn.nn.Sequential):
        return PlainLayer("Sequential", {name: part_config(part) for name, part in layer.named_children()})
    if getattr(_layers, kind, None) is not type(layer) or list(layer.children()):
        raise ValueError(f"[save] {kind} cannot be saved as a part of a model: use a layer of p_vision, or save the weights alone")
    return PlainLayer(kind, layer._pb_config())


def drawing_of(model: Any) -> dict[str, Any]:
    """Serializes a functional model; symbols are written as the indices of their call and of the output in it."""
    calls = [symbol.node for symbol in leaves(model._inputs)] + model._nodes
    layers = list(dict.fromkeys(node.layer for node in calls))
    places = {id(symbol): [index, k] for index, node in enumerate(calls) for k, symbol in enumerate(leaves(node.output))}

    def written(leaf: Any) -> Any:
        return {"symbol": places[id(leaf)]} if isinstance(leaf, Symbol) else leaf

    return {
        "parts": [[name_in(model, layer), part_config(layer)] for layer in layers],
        "calls": [[layers.index(node.layer), mapped(written, list(node.args)), mapped(written, node.kwargs)] for node in calls],
        "inputs": mapped(written, model._inputs),
        "outputs": mapped(written, model._outputs),
    }


def name_in(model: Module, layer: Module) -> str:
    return next(name for name, part in model.named_children() if part is layer)


def drawn(cls: Any, config: dict[str, Any]) -> Any:
    """Creates the model of a serialized graph. Layer names are kept, so that weights match."""
    for key in ("parts", "calls", "inputs", "outputs"):
        if key not in config:
            raise pyburn.FormatError(f"[load] a drawing of a model has no {key!r}")
    layers = []
    for name, layer in config["parts"]:
        if not isinstance(layer, Module):
            raise pyburn.FormatError(f"[load] a part of a model is no layer: got {layer!r}")
        layers.append(layer)
        if isinstance(layer, Layer):
            layer._name = str(name)
    outputs: list[list[Symbol]] = []

    def read(value: Any) -> Any:
        if isinstance(value, dict) and set(value) == {"symbol"}:
            index, k = value["symbol"]
            if not (isinstance(index, int) and isinstance(k, int) and 0 <= index < len(outputs) and 0 <= k < len(outputs[index])):
                raise pyburn.FormatError(f"[load] a drawing of a model refers to an output that is not there: got {value['symbol']!r}")
            return outputs[index][k]
        if isinstance(value, dict):
            return {key: read(item) for key, item in value.items()}
        return [read(item) for item in value] if isinstance(value, list) else value

    for index, args, kwargs in config["calls"]:
        if not isinstance(index, int) or not 0 <= index < len(layers):
            raise pyburn.FormatError(f"[load] a drawing of a model calls a layer that is not there: got {index!r}")
        layer = layers[index]
        if isinstance(layer, InputLayer):
            outputs.append([layer.output])
            continue
        arguments, options = tuple(read(args)), read(kwargs)
        made = layer(*arguments, **options) if isinstance(layer, Layer) else symbolic_call(layer, arguments, options)
        outputs.append(list(leaves(made)))
    rest = {key: value for key, value in config.items() if key in ("name", "trainable")}
    return cls(read(config["inputs"]), read(config["outputs"]), **rest)
