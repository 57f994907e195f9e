"""Models with torchvision's names, arguments, parameter names and shapes; each family is imported lazily.

>>> model = p_vision.models.resnet18(num_classes=10)
>>> model(pyburn.rand(1, 3, 64, 64)).shape
pyburn.Size([1, 10])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .building import Weights

if TYPE_CHECKING:
    from .efficientnet import (
        EfficientNet,
        efficientnet_b0,
        efficientnet_b1,
        efficientnet_b2,
        efficientnet_b3,
        efficientnet_b4,
        efficientnet_b5,
        efficientnet_b6,
        efficientnet_b7,
        efficientnet_v2_l,
        efficientnet_v2_m,
        efficientnet_v2_s,
    )
    from .inception import GoogLeNet, GoogLeNetOutputs, googlenet
    from .mobilenetv3 import MobileNetV3, mobilenet_v3_large, mobilenet_v3_small
    from .resnet import (
        ResNet,
        resnet18,
        resnet34,
        resnet50,
        resnet101,
        resnet152,
        resnext50_32x4d,
        resnext101_32x8d,
        resnext101_64x4d,
        wide_resnet50_2,
        wide_resnet101_2,
    )
    from .u_net import UNet, unet
    from .vision_transformer import VisionTransformer, vit_b_16, vit_b_32, vit_h_14, vit_l_16, vit_l_32

# No module has the name of a model: importing it would replace the function by the module.
_CLASSES = {
    "EfficientNet": "efficientnet",
    "GoogLeNet": "inception",
    "GoogLeNetOutputs": "inception",
    "MobileNetV3": "mobilenetv3",
    "ResNet": "resnet",
    "UNet": "u_net",
    "VisionTransformer": "vision_transformer",
}
_BUILDERS = {
    **{f"efficientnet_{size}": "efficientnet" for size in (*(f"b{k}" for k in range(8)), "v2_s", "v2_m", "v2_l")},
    "googlenet": "inception",
    **{f"mobilenet_v3_{size}": "mobilenetv3" for size in ("small", "large")},
    **{f"resnet{depth}": "resnet" for depth in (18, 34, 50, 101, 152)},
    **dict.fromkeys(("resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2"), "resnet"),
    "unet": "u_net",
    **{f"vit_{size}": "vision_transformer" for size in ("b_16", "b_32", "l_16", "l_32", "h_14")},
}

__all__ = [*_CLASSES, *_BUILDERS, "Weights", "get_model", "get_model_builder", "list_models"]


def list_models(include: str | None = None) -> list[str]:
    """Lists the names of the models; `include` is a pattern such as "resnet*".

    >>> p_vision.models.list_models("mobilenet*")
    ['mobilenet_v3_large', 'mobilenet_v3_small']
    """
    from fnmatch import fnmatchcase

    return sorted(name for name in _BUILDERS if include is None or fnmatchcase(name, include))


def get_model_builder(name: str) -> Any:
    """Returns the function that builds the model of this name.

    >>> p_vision.models.get_model_builder("resnet18") is p_vision.models.resnet18
    True
    """
    if name.lower() not in _BUILDERS:
        raise ValueError(f"Unknown model {name}: there are {', '.join(list_models())}")
    return getattr(importlib.import_module(f".{_BUILDERS[name.lower()]}", __name__), name.lower())


def get_model(name: str, **options: Any) -> Any:
    """Builds the model of this name with the given options.

    >>> type(p_vision.models.get_model("mobilenet_v3_small", num_classes=2)).__name__
    'MobileNetV3'
    """
    return get_model_builder(name)(**options)


_KERAS = {
    "Model": "model",
    "Sequential": "sequential",
    "clone_model": "saving",
    "load_model": "saving",
    "model_from_json": "saving",
    "save_model": "saving",
}


def __getattr__(name: str) -> Any:
    if name in _KERAS:  # Keras's users look for these in keras.models
        return getattr(importlib.import_module(f"p_vision.{_KERAS[name]}"), name)
    family = _BUILDERS.get(name) or _CLASSES.get(name)
    if family is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{family}", __name__), name)
