"""Keras's `layers`: all layers of p_vision in one module, including Keras's short names and functional forms.

from p_vision import layers

layers.Conv2D(32, 3, activation="relu")
layers.concatenate([a, b])
"""

from __future__ import annotations

import importlib
from typing import Any

import p_vision

from ..configured import suggestion
from ..names import PLACES

_FUNCTIONS = ("add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate", "dot")  # create and call a layer


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return _called_at_once(getattr(p_vision, name.capitalize()))
    if name == "Identity":  # p_vision.Identity is the initializer
        return importlib.import_module("p_vision.layers.wrapping").Identity
    if name in ("deserialize", "serialize"):
        return getattr(importlib.import_module("p_vision.serialization"), name)
    found = getattr(p_vision, _full_name(name), None) if not name.startswith("__") else None
    if name in ("Input", "InputSpec") or (isinstance(found, type) and issubclass(found, p_vision.Layer)):
        return found
    raise AttributeError(f"p_vision has no layer {name!r}{suggestion(name, PLACES)}")


def _full_name(name: str) -> str:
    """Expands the short names `MaxPool2D`, `GlobalAvgPool2D` and `Convolution2D`."""
    if "Pooling" not in name:
        name = name.replace("AvgPool", "AveragePooling").replace("MaxPool", "MaxPooling")
    return name.replace("Convolution", "Conv")


def _called_at_once(layer: Any) -> Any:
    def function(inputs: Any, *args: Any, **options: Any) -> Any:
        return layer(*args, **options)(inputs)

    return function


def __dir__() -> list[str]:
    found = [
        name for name in dir(p_vision) if isinstance(getattr(p_vision, name), type) and issubclass(getattr(p_vision, name), p_vision.Layer)
    ]
    return sorted([*found, "Input", "InputSpec", *_FUNCTIONS])
