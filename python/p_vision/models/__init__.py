"""Models with torchvision's names, arguments, parameter names and shapes; each family is imported lazily.

>>> model = p_vision.models.resnet18(num_classes=10)
>>> model(pyburn.rand(1, 3, 64, 64)).shape
pyburn.Size([1, 10])
"""

# ruff: noqa: F403
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..configured import suggestion
from .building import Weights

if TYPE_CHECKING:
    from .alex_net import *
    from .convnext import *
    from .densenet import *
    from .efficientnet import *
    from .google_net import *
    from .inception import *
    from .mobilenetv2 import *
    from .mobilenetv3 import *
    from .regnet import *
    from .resnet import *
    from .shufflenetv2 import *
    from .squeezenet import *
    from .swin_transformer import *
    from .u_net import *
    from .vgg import *
    from .vision_transformer import *

# The classes and functions of each module. No module has the name of a model: importing it would replace the function by the module.
_FAMILIES = {
    "alex_net": "AlexNet alexnet",
    "convnext": "ConvNeXt convnext_tiny convnext_small convnext_base convnext_large",
    "densenet": "DenseNet densenet121 densenet161 densenet169 densenet201",
    "efficientnet": (
        "EfficientNet efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5 "
        "efficientnet_b6 efficientnet_b7 efficientnet_v2_s efficientnet_v2_m efficientnet_v2_l"
    ),
    "google_net": "GoogLeNet GoogLeNetOutputs googlenet",
    "inception": "Inception3 InceptionOutputs inception_v3",
    "mobilenetv2": "MobileNetV2 mobilenet_v2",
    "mobilenetv3": "MobileNetV3 mobilenet_v3_large mobilenet_v3_small",
    "regnet": (
        "RegNet regnet_x_400mf regnet_x_800mf regnet_x_1_6gf regnet_x_3_2gf regnet_x_8gf regnet_x_16gf regnet_x_32gf "
        "regnet_y_400mf regnet_y_800mf regnet_y_1_6gf regnet_y_3_2gf regnet_y_8gf regnet_y_16gf regnet_y_32gf regnet_y_128gf"
    ),
    "resnet": (
        "ResNet resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d resnext101_64x4d wide_resnet50_2 "
        "wide_resnet101_2"
    ),
    "shufflenetv2": "ShuffleNetV2 shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0",
    "squeezenet": "SqueezeNet squeezenet1_0 squeezenet1_1",
    "swin_transformer": "SwinTransformer swin_b swin_s swin_t swin_v2_b swin_v2_s swin_v2_t",
    "u_net": "UNet unet",
    "vgg": "VGG vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn",
    "vision_transformer": "VisionTransformer vit_b_16 vit_b_32 vit_l_16 vit_l_32 vit_h_14",
}
_MODULES = {name: module for module, names in _FAMILIES.items() for name in names.split()}
_BUILDERS = [name for name in _MODULES if name.islower()]

__all__ = [*_MODULES, "Weights", "get_model", "get_model_builder", "list_models"]


def list_models(include: str | None = None) -> list[str]:
    """Lists the names of the models.

    Args:
        include: A pattern such as "resnet*"; None for all models.

    Returns:
        The names in alphabetical order.

    >>> p_vision.models.list_models("mobilenet*")
    ['mobilenet_v2', 'mobilenet_v3_large', 'mobilenet_v3_small']
    """
    from fnmatch import fnmatchcase

    return sorted(name for name in _BUILDERS if include is None or fnmatchcase(name, include))


def get_model_builder(name: str) -> Any:
    """Returns the function that builds a model.

    Args:
        name: The name of the model.

    Raises:
        ValueError: There is no model of this name.

    >>> p_vision.models.get_model_builder("resnet18") is p_vision.models.resnet18
    True
    """
    if name.lower() not in _BUILDERS:
        raise ValueError(f"Unknown model {name}{suggestion(name, _BUILDERS) or ': there are ' + ', '.join(list_models())}")
    return getattr(importlib.import_module(f".{_MODULES[name.lower()]}", __name__), name.lower())


def get_model(name: str, **options: Any) -> Any:
    """Builds a model by name.

    Args:
        name: The name of the model.
        **options: The options of its function, such as weights and num_classes.

    Returns:
        The model.

    Raises:
        ValueError: There is no model of this name.

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
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{suggestion(name, _MODULES)}")
    return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
