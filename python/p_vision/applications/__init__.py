"""Keras's `applications`: image networks with Keras's layer names and weight order.

from p_vision.applications import ResNet50

features = ResNet50(include_top=False, weights=None, input_shape=(64, 64, 3), pooling="avg")
"""

from __future__ import annotations

import importlib
from typing import Any

_PLACES = {
    **dict.fromkeys(("DenseNet121", "DenseNet169", "DenseNet201"), "densenet"),
    **{f"EfficientNetB{i}": "efficientnet" for i in range(8)},
    "MobileNetV2": "mobilenet_v2",
    **dict.fromkeys(("ResNet50", "ResNet101", "ResNet152"), "resnet"),
    **dict.fromkeys(("ResNet50V2", "ResNet101V2", "ResNet152V2"), "resnet_v2"),
    "VGG16": "vgg16",
    "VGG19": "vgg19",
}
_MODULES = (*_PLACES.values(), "imagenet_utils", "resnet50")
__all__ = sorted({*_PLACES, *_MODULES})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _PLACES:
        raise AttributeError(f"p_vision.applications has no network {name!r} (networks: {', '.join(sorted(_PLACES))})")
    return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
