"""DenseNet (Huang et al., https://arxiv.org/abs/1608.06993)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import layers
from ..model import Model
from ..symbolic.symbol import Symbol
from . import imagenet_utils
from .frame import application, channels_of, normalised
from .resnet import EPSILON

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "preprocess_input"]


def DenseNet121(include_top: bool = True, weights: Any = "imagenet", *, name: str = "densenet121", **options: Any) -> Model:
    """DenseNet-121: dense blocks of 6, 12, 24 and 16 layers."""
    return _densenet((6, 12, 24, 16), name, include_top=include_top, weights=weights, **options)


def DenseNet169(include_top: bool = True, weights: Any = "imagenet", *, name: str = "densenet169", **options: Any) -> Model:
    """DenseNet-169: dense blocks of 6, 12, 32 and 32 layers."""
    return _densenet((6, 12, 32, 32), name, include_top=include_top, weights=weights, **options)


def DenseNet201(include_top: bool = True, weights: Any = "imagenet", *, name: str = "densenet201", **options: Any) -> Model:
    """DenseNet-201: dense blocks of 6, 12, 48 and 32 layers."""
    return _densenet((6, 12, 48, 32), name, include_top=include_top, weights=weights, **options)


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Normalizes images with values from 0 to 255 by ImageNet's mean and standard deviation."""
    return imagenet_utils.preprocess_input(x, data_format, "torch")


def _densenet(depths: Sequence[int], name: str, **options: Any) -> Model:
    def features(x: Symbol) -> Symbol:
        x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv")(layers.ZeroPadding2D(3)(x))
        x = _active(x, "conv1_bn", "conv1_relu")
        x = layers.MaxPooling2D(3, strides=2, name="pool1")(layers.ZeroPadding2D(1)(x))
        for stage, depth in enumerate(depths, 2):
            for index in range(1, depth + 1):
                x = layers.Concatenate(name=f"conv{stage}_block{index}_concat")([x, _grown(x, f"conv{stage}_block{index}")])
            if stage < 5:  # transition: half the channels, half the size
                x = _active(x, f"pool{stage}_bn", f"pool{stage}_relu")
                x = layers.Conv2D(channels_of(x) // 2, 1, use_bias=False, name=f"pool{stage}_conv")(x)
                x = layers.AveragePooling2D(2, name=f"pool{stage}_pool")(x)
        return _active(x, "bn", "relu")

    return application(features, name, **options)


def _active(x: Symbol, norm: str, relu: str) -> Symbol:
    return layers.Activation("relu", name=relu)(normalised(x, norm, epsilon=EPSILON))


def _grown(x: Symbol, name: str) -> Symbol:
    """Appends 32 channels to x."""
    x = layers.Conv2D(128, 1, use_bias=False, name=f"{name}_1_conv")(_active(x, f"{name}_0_bn", f"{name}_0_relu"))
    return layers.Conv2D(32, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(_active(x, f"{name}_1_bn", f"{name}_1_relu"))
