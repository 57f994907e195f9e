"""Builds models with random weights, or with weights from a file or a state dict."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import pyburn
from pyburn import nn

Weights = str | os.PathLike[str] | Mapping[str, pyburn.Tensor]
NormLayer = Callable[..., nn.Module]
Model = TypeVar("Model", bound=nn.Module)


def build(model_class: type[Model], weights: Weights | None, *args: Any, **options: Any) -> Model:
    """Builds a model; with weights, the random initialization is skipped.

    torchvision's `progress` (nothing is downloaded) and `pretrained=False` are accepted.

    Raises:
        ValueError: pretrained is True.
    """
    options.pop("progress", None)
    if options.pop("pretrained", False):
        raise ValueError(f"[{model_class.__name__}] no weights are downloaded: give weights= the path of a file that has them")
    if weights is None:
        return model_class(*args, **options)
    state = read_weights(weights)
    model = nn.utils.skip_init(model_class, *args, **options)
    model.load_state_dict(state)
    return model


def variant(name: str, title: str, millions: float, make: Callable[..., Model], *args: Any, **defaults: Any) -> Callable[..., Model]:
    """Defines the function that builds one model of a family.

    Args:
        name: The name of the function.
        title: The name of the model in its docstring.
        millions: The number of parameters in millions.
        make: The class of the model, or a function of the weights, args, and the options.
        *args: The configuration of the model.
        **defaults: Options of the model that differ from those of its class.
    """
    family = partial(build, make) if isinstance(make, type) else make

    def built(*, weights: Weights | None = None, **options: Any) -> Model:
        return family(weights, *args, **{**defaults, **options})

    built.__name__ = built.__qualname__ = name
    built.__module__ = make.__module__
    changed = "".join(f", by default with {option}={value}" for option, value in defaults.items() if isinstance(value, (int, float)))
    built.__doc__ = f"""{title}: {millions} million parameters.

    Args:
        weights: A state dict, or the path of a .safetensors or PyTorch file; None for random weights. Nothing is downloaded.
        **options: The options of the class of the model, such as num_classes (default 1000){changed}.

    Returns:
        The model, which takes images (N, 3, height, width).

    Raises:
        ValueError: An option has an invalid value.
        FileNotFoundError: The file does not exist.

    >>> with pyburn.device("null"):  # computes shapes only; without this line the model has weights
    ...     model = p_vision.models.{name}(num_classes=10).eval()
    ...     model(pyburn.empty(1, 3, 224, 224)).shape
    pyburn.Size([1, 10])
    """
    return built


def read_weights(weights: Weights) -> Mapping[str, pyburn.Tensor]:
    """Returns a state dict: the argument itself, or the contents of a .safetensors or PyTorch file."""
    if isinstance(weights, Mapping):
        return weights
    if not isinstance(weights, (str, os.PathLike)):  # such as ResNet18_Weights.DEFAULT of torchvision
        raise TypeError(f"weights: expected None, the path of a file or a state dict: got {weights!r}. No weights are downloaded")
    path = os.fspath(weights)
    if not os.path.exists(path):
        raise FileNotFoundError(f"weights: no file {path!r}. No weights are downloaded: save a state dict of torchvision and give its path")
    if path.endswith(".safetensors"):
        from pyburn.io import safetensors

        return safetensors.load_file(path)
    state = pyburn.load(path)
    if not isinstance(state, Mapping):
        raise TypeError(f"weights: expected a state dict in {path!r}: got {type(state).__name__}")
    return state


def rounded_channels(channels: float, divisor: int = 8, min_value: int | None = None) -> int:
    """Rounds to the nearest multiple of the divisor that is at least 0.9 times the number, and at least min_value."""
    rounded = max(divisor if min_value is None else min_value, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded
