"""Model: a functional graph of layers, or a subclass that defines `call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn._nested import leaves, mapped
from pyburn.nn import Module

from . import activations
from .configured import suggestion, with_own_layers
from .input import InputLayer
from .layer import Layer
from .symbolic.symbol import Node, Symbol
from .training import TrainingMethods


class Model(TrainingMethods, Layer):  # type: ignore[misc]
    """A model: `Model(inputs, outputs)` from a graph of symbols, or a subclass that defines `call`.

    Args:
        inputs: The input symbol or symbols, from `Input`: one, a list or a dict.
        outputs: The output symbol or symbols: one, a list or a dict.
        backend: The backend or device of the weights.
        name: The name of the model.
        trainable: False freezes all weights.
        dtype: The dtype or dtype policy.

    Raises:
        TypeError: Only one of inputs and outputs is given, or one of them contains something other than symbols.
        ValueError: The outputs depend on an Input that is not in inputs.

    >>> a = p_vision.Input(shape=(4,))
    >>> b = p_vision.Input(shape=(2,))
    >>> shared = p_vision.Dense(3, activation="relu")
    >>> hidden = p_vision.Concatenate()([shared(a), b])
    >>> model = p_vision.Model(inputs=[a, b], outputs=p_vision.Dense(1)(hidden))
    >>> len(model.weights)
    4
    """

    converts = False

    def __init__(
        self,
        inputs: Any = None,
        outputs: Any = None,
        *,
        backend: Any = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, trainable=trainable, dtype=dtype)
        self._inputs: Any = None
        self._outputs: Any = None
        self._nodes: list[Node] = []
        if (inputs is None) != (outputs is None):
            raise TypeError("[Model] give both inputs and outputs, or subclass Model and define call")
        if backend is not None:
            self.backend = backend
        if inputs is not None:
            self._draw(inputs, outputs)
        if backend is not None:
            self.backend = backend  # moves the weights that are already built

    def _draw(self, inputs: Any, outputs: Any) -> None:
        for what, symbols in (("inputs", inputs), ("outputs", outputs)):
            wrong = [leaf for leaf in leaves(symbols) if not isinstance(leaf, Symbol)]
            if wrong or not list(leaves(symbols)):
                layer = next((leaf for leaf in wrong if isinstance(leaf, Module)), None)
                hint = "" if layer is None else f"; the layer was not called: write {type(layer).__name__}(...)(x)"
                raise TypeError(f"[Model] {what} are symbols, from Input and from layers that were called with one: got {wrong!r}{hint}")
        self._inputs, self._outputs = inputs, outputs
        self._nodes = path(list(leaves(inputs)), list(leaves(outputs)))
        for layer in layer_order(list(leaves(inputs)), list(leaves(by_name(outputs))), self._nodes):
            self.adopt(layer)
        self.built = True
        if not self._trainable:
            self.trainable = False

    def adopt(self, layer: Any) -> None:
        """Registers a layer as a child module once, under a unique name.

        Args:
            layer: The layer or module.

        Raises:
            ValueError: Another layer already has the explicit name of this layer.
        """
        if any(part is layer for part in self.children()):
            return
        taken = dict(self.named_children())
        given = layer._name if isinstance(layer, Layer) else None
        if given is not None and given in taken:
            raise ValueError(f"[Model] two layers are called {given!r}: names are unique in a model")
        stem = given or (layer.name if isinstance(layer, Layer) else type(layer).__name__.lower())
        key, count = stem, 0
        while key in taken or hasattr(type(self), key):
            count += 1
            key = f"{stem}_{count}"
        for part in layer.modules():
            part.training = self.training or getattr(part, "trains_by_itself", False)
        self.add_module(key, layer)

    # ---- forward pass

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if not self._nodes and self._outputs is None:
            return super().forward(*args, **kwargs)
        return self._run(args[0] if len(args) == 1 else args)

    def _run(self, inputs: Any) -> Any:
        given = _matched(inputs, self._inputs)
        symbols = list(leaves(self._inputs))
        if len(given) != len(symbols):
            raise ValueError(f"[{self._get_name()}] expected {len(symbols)} inputs: got {len(given)}")
        given = [with_last_axis(symbol, tensor) for symbol, tensor in zip(symbols, given)]
        for symbol, tensor in zip(symbols, given):
            check_shape(self._get_name(), symbol, tensor)
        values = {id(symbol): tensor for symbol, tensor in zip(symbols, given)}

        def value(leaf: Any) -> Any:
            return values[id(leaf)] if isinstance(leaf, Symbol) else leaf

        for node in self._nodes:
            result = node.layer(*mapped(value, node.args), **mapped(value, node.kwargs))
            values.update(zip(map(id, leaves(node.output)), leaves(result)))
        return mapped(value, self._outputs)

    def call_with(self, x: Any) -> Any:
        return self(x)

    def _hand_on(self, inputs: Any, masks: Any, output: Any) -> None:
        """Does nothing: the layers of the model have already attached their masks to the outputs."""

    # ---- layers, inputs and outputs

    @property
    def layers(self) -> list[Any]:
        """The layers, in execution order."""
        return list(self.children())

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Returns a layer by name or by index.

        Args:
            name: The name.
            index: The index in `layers`.

        Raises:
            ValueError: Both or neither of name and index are given, or no layer has the name.
        """
        if (name is None) == (index is None):
            raise ValueError("[get_layer] give either a name or an index")
        if index is not None:
            return self.layers[index]
        found = dict(self.named_children())
        if name not in found:
            raise ValueError(f"[get_layer] there is no layer {name!r}{suggestion(name or '', found)} (layers: {', '.join(found)})")
        return found[name]

    @property
    def inputs(self) -> list[Symbol]:
        """The input symbols as a flat list."""
        return list(leaves(self._inputs))

    @property
    def outputs(self) -> list[Symbol]:
        """The output symbols as a flat list."""
        return list(leaves(self._outputs))

    @property
    def input(self) -> Any:
        """The input symbols in the structure passed to the constructor."""
        return self._inputs

    @property
    def output(self) -> Any:
        """The output symbols in the structure passed to the constructor."""
        return self._outputs

    @property
    def input_shape(self) -> Any:
        """The input shape; None for the batch dimension."""
        return mapped(lambda symbol: symbol.shape, self._inputs)

    @property
    def output_shape(self) -> Any:
        """The output shape; None for the batch dimension."""
        return mapped(lambda symbol: symbol.shape, self._outputs)

    @property
    def output_names(self) -> list[str]:  # type: ignore[override]
        """The names of the output layers, or the keys if the outputs are a dict."""
        if isinstance(self._outputs, Mapping):
            return list(self._outputs)
        names = {id(layer): name for name, layer in self.named_children()}
        found = [names.get(id(symbol.node.layer), "output") for symbol in leaves(self._outputs)]
        return found if len(set(found)) == len(found) else [f"{name}_{i}" if i else name for i, name in enumerate(found)]

    def last_activation(self) -> str | None:
        last = self.outputs[-1].node.layer if self._outputs is not None else None
        while isinstance(last, Model) and last.layers:
            last = last.layers[-1]
        given = getattr(last, "activation", None)
        return activations.name_of(given if given is not None else last)

    def input_dtypes(self) -> Any:
        return None if self._inputs is None else [symbol.dtype for symbol in leaves(self._inputs)]

    def get_config(self) -> dict[str, Any]:
        from .symbolic.drawing import drawing_of

        if self._outputs is None or not self._nodes:
            raise NotImplementedError(
                f"[save] {type(self).__name__} computes its output in Python code, which files do not contain: use save_weights, or define "
                "get_config and give the class to load_model with custom_objects"
            )
        return {**drawing_of(self), **self._own_options()}

    def _own_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {} if self._name is None else {"name": self._name}
        return options if self._trainable else {**options, "trainable": False}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        from .symbolic.drawing import drawn

        return drawn(cls, with_own_layers(config, custom_objects))

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {}

    def extra_repr(self) -> str:
        return ""


def path(inputs: list[Symbol], outputs: list[Symbol]) -> list[Node]:
    """Returns the calls needed to compute outputs from inputs, in topological order.

    Args:
        inputs: The input symbols.
        outputs: The output symbols.

    Raises:
        ValueError: The outputs depend on an Input that is not in inputs.

    >>> from p_vision.model import path
    >>> x = p_vision.Input((2,))
    >>> y = p_vision.Dense(1)(p_vision.ReLU()(x))
    >>> [node.layer.name for node in path([x], [y])]
    ['re_lu', 'dense']
    """
    given, done, order = {id(symbol) for symbol in inputs}, set[int](), list[Node]()
    stack: list[tuple[Symbol, bool]] = [(symbol, False) for symbol in reversed(outputs)]
    while stack:
        symbol, entered = stack.pop()
        node = symbol.node
        if id(symbol) in given or id(node) in done:
            continue
        if entered:
            done.add(id(node))
            order.append(node)
            continue
        if isinstance(node.layer, InputLayer):
            raise ValueError(f"[Model] the outputs depend on an Input that is not among the inputs: {symbol!r}")
        stack.append((symbol, True))
        stack.extend((before, False) for before in reversed(node.inputs))
    return order


def by_name(value: Any) -> Any:
    """Sorts nested dicts by key, the order in which Keras flattens them."""
    if isinstance(value, Mapping):
        return {key: by_name(value[key]) for key in sorted(value)}
    return [by_name(item) for item in value] if isinstance(value, (list, tuple)) else value


def layer_order(inputs: list[Symbol], outputs: list[Symbol], nodes: list[Node]) -> list[Any]:
    """Returns the layers in Keras's order, so that lists of weights match: by decreasing depth, then in the order of a traversal from the
    outputs.
    """
    given, met, stack = {id(symbol) for symbol in inputs}, dict[int, int](), [*reversed(outputs)]
    seen = set[int]()
    while stack:
        symbol = stack.pop()
        if id(symbol.node) in seen or (id(symbol) in given and not isinstance(symbol.node.layer, InputLayer)):
            continue
        seen.add(id(symbol.node))
        met.setdefault(id(symbol.node.layer), len(met))
        if id(symbol) not in given:
            stack.extend(reversed(symbol.node.inputs))
    distance, of_layer = dict[int, int](), dict[int, int]()
    layers: dict[int, Any] = {}
    for node in [*reversed(nodes), *(symbol.node for symbol in inputs)]:
        depth = max(distance.get(id(node), 0), of_layer.get(id(node.layer), 0))
        of_layer[id(node.layer)] = depth
        layers[id(node.layer)] = node.layer
        for before in node.inputs if id(node.output) not in given else ():
            distance[id(before.node)] = max(depth + 1, distance.get(id(before.node), 0))
    return sorted(layers.values(), key=lambda layer: (-of_layer[id(layer)], met.get(id(layer), -1)))


def _matched(inputs: Any, drawn: Any) -> list[Any]:
    """Matches the tensors to the inputs: a dict by key, or by the names of the Inputs if the model's inputs are a list."""
    if isinstance(inputs, Mapping) and not isinstance(drawn, Mapping):
        names = [symbol.name for symbol in leaves(drawn)]
        if all(name in inputs for name in names):
            return [inputs[name] for name in names]
    if isinstance(drawn, Mapping) and isinstance(inputs, Mapping):
        missing = [key for key in drawn if key not in inputs]
        if missing:
            raise ValueError(f"[Model] there is no input {missing[0]!r}: got {', '.join(map(str, inputs))}")
        return [inputs[key] for key in drawn]
    return list(leaves(inputs))


def with_last_axis(symbol: Symbol, tensor: Any) -> Any:
    """Adds or removes a last dimension of size 1 if that gives the rank of the Input, as Keras does."""
    shape = tuple(tensor.shape)
    if len(shape) == symbol.ndim - 1 and symbol.shape[-1] == 1:
        return tensor.unsqueeze(-1) if isinstance(tensor, Tensor) else tensor[..., None]
    return tensor.squeeze(-1) if len(shape) == symbol.ndim + 1 and shape[-1] == 1 and isinstance(tensor, Tensor) else tensor


def check_shape(name: str, symbol: Symbol, tensor: Any) -> None:
    """Raises ShapeError if a tensor does not have the shape of its Input.

    Args:
        name: The name of the model, for the message.
        symbol: The Input.
        tensor: The tensor.

    >>> from p_vision.model import check_shape
    >>> check_shape("model", p_vision.Input((2,)), pyburn.ones(3, 2))
    """
    shape = tuple(tensor.shape)
    fits = len(shape) == symbol.ndim and all(wanted in (None, extent) for wanted, extent in zip(symbol.shape[1:], shape[1:]))
    if not fits:
        raise pyburn.ShapeError(f"[{name}] expected an input of the shape {symbol.shape}: got {shape}")


def as_model(module: Any, backend: Any = None) -> Any:
    """Adds the methods of a model (fit, evaluate, predict, train(data), weights, backend) to a pyburn module, in place.

    Args:
        module: The module; its class is replaced by a subclass of its own class.
        backend: The backend or device to move it to.

    Returns:
        The same module.

    Raises:
        TypeError: module is not a Module.

    >>> net = p_vision.as_model(pyburn.nn.Sequential(pyburn.nn.Linear(4, 2)))
    >>> len(net.weights), net.predict(pyburn.ones(3, 4), verbose=0).shape
    (2, (3, 2))
    """
    if not isinstance(module, Module):
        raise TypeError(f"[as_model] expected a module: got {type(module).__name__}")
    if not isinstance(module, TrainingMethods):
        cls = type(module)
        module.__class__ = _faced(cls)
    if backend is not None:
        module.backend = backend
    return module


_faces: dict[type, type] = {}


def _faced(cls: Any) -> Any:
    if cls not in _faces:
        _faces[cls] = type(cls.__name__, (TrainingMethods, cls), {"__slots__": (), "__module__": cls.__module__, "__doc__": cls.__doc__})
    return _faces[cls]


__all__ = ["Model", "as_model", "check_shape", "path"]
