"""Shared parts of the networks: input, head, and loading of weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn

from .. import layers
from ..input import InputLayer
from ..model import Model
from ..symbolic.symbol import Symbol

Part = Callable[[Symbol], Symbol]


def network(
    name: str,
    summary: str,
    features: Part,
    *,
    size: int = 224,
    head: Part | None = None,
    top: dict[str, Any] | None = None,
) -> Callable[..., Model]:
    """Defines the function of a network, with Keras's arguments.

    Args:
        name: The name of the function; in lower case, that of the model.
        summary: The first line of its docstring.
        features: Computes the features from the input symbol.
        size: The default image size.
        head: Layers between the features and the last layer.
        top: Options of the last layer.
    """

    def built(
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
        name: str = name.lower(),
        *,
        backend: Any = None,
    ) -> Model:
        if weights == "imagenet":
            raise ValueError(
                f"[{name}] trained weights are not part of the package: give weights=None, or a file that save_weights has written "
                "(arrays of Keras's model fit as well: model.set_weights(keras_model.get_weights()))"
            )
        begin = layers.Input(shape=_shape(name, input_shape, size, include_top)) if input_tensor is None else input_tensor
        x = features(begin)
        if include_top:
            x = (head or average)(x)
            x = layers.Dense(classes, activation=classifier_activation, name="predictions", **(top or {}))(x)
        elif pooling in ("avg", "max"):
            x = average(x) if pooling == "avg" else layers.GlobalMaxPooling2D(name="max_pool")(x)
        elif pooling is not None:
            raise ValueError(f"[{name}] pooling is None, 'avg' or 'max': got {pooling!r}")
        inputs = _sources(begin)
        model = Model(inputs[0] if len(inputs) == 1 else inputs, x, name=name, backend=backend)
        if weights is not None:
            model.load_weights(weights)
        return model

    built.__name__ = built.__qualname__ = name
    built.__doc__ = f"""{summary}

    Args:
        include_top: Whether to include the classifier.
        weights: None for random weights, or a file written by save_weights. Keras's default "imagenet" raises: nothing is downloaded.
        input_tensor: A symbol to use as input.
        input_shape: The input shape without the batch dimension; by default ({size}, {size}, 3).
        pooling: The pooling of the features without a classifier: "avg", "max", or None for none.
        classes: The number of classes.
        classifier_activation: The activation of the last layer; None for logits.
        name: The name of the model.
        backend: The backend or device of the weights.

    Returns:
        The model, which takes images (N, height, width, channels).

    Raises:
        ValueError: weights is "imagenet", or pooling is unknown.
        ShapeError: input_shape does not fit.

    >>> with pyburn.device("null"):  # computes shapes only; without this line the model has weights
    ...     model = p_vision.applications.{name}(weights=None, include_top=False, pooling="avg", input_shape=(64, 64, 3))
    >>> model.input_shape
    (None, 64, 64, 3)
    """
    return built


def average(x: Symbol) -> Symbol:
    return layers.GlobalAveragePooling2D(name="avg_pool")(x)


def normalised(x: Symbol, name: str, **options: Any) -> Symbol:
    return layers.BatchNormalization(name=name, **options)(x)


def even_border(x: Symbol, kernel: int, name: str) -> Symbol:
    """Pads so that a convolution of stride 2 halves the size, with the padding of TensorFlow's "same"."""
    half = kernel // 2
    sides = [(half - (1 if extent is None else 1 - extent % 2), half) for extent in x.shape[1:3]]
    return layers.ZeroPadding2D(sides, name=name)(x)


def channels_of(x: Symbol) -> int:
    found = x.shape[-1]
    assert found is not None  # known, because a convolution came before
    return found


def _shape(name: str, given: Any, size: int, whole: bool) -> Any:
    if given is None:
        return (size, size, 3) if whole else (None, None, 3)
    if len(given) != 3 or any(extent is not None and extent < 32 for extent in given[:2]):
        raise pyburn.ShapeError(f"[{name}] input_shape is (height, width, channels), of at least 32 x 32 pixels: got {given!r}")
    if whole and None in given:
        raise pyburn.ShapeError(f"[{name}] with include_top=True input_shape has no None: got {given!r}")
    return tuple(given)


def _sources(symbol: Symbol) -> list[Symbol]:
    """Returns the Inputs that a symbol depends on."""
    if isinstance(symbol.node.layer, InputLayer):
        return [symbol]
    found: list[Symbol] = []
    for before in symbol.node.inputs:
        found.extend(source for source in _sources(before) if not any(source is known for known in found))
    return found
