"""Fuses batch normalization in evaluation mode into the preceding layer."""

from __future__ import annotations

import copy
from typing import Any

from ..._core import Tensor, _nn
from ..parameter import Parameter


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Returns a convolution equivalent to `conv` followed by `bn`; both must be in evaluation mode.

    Args:
        conv: The convolution.
        bn: The batch normalization.
        transpose: Whether `conv` is a transposed convolution.

    Raises:
        AssertionError: A layer is in training mode.

    >>> conv, bn = pyburn.nn.Conv2d(3, 8, 3).eval(), pyburn.nn.BatchNorm2d(8).eval()
    >>> x = pyburn.randn(1, 3, 5, 5)
    >>> pyburn.allclose(pyburn.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    True
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Returns the weight and bias of the fused convolution; `transpose` for a transposed one.

    Args:
        conv_w: The weight of the convolution.
        conv_b: Its bias, or None.
        bn_rm: The running mean.
        bn_rv: The running variance.
        bn_eps: The epsilon.
        bn_w: The scale.
        bn_b: The offset.
        transpose: Whether the convolution is transposed.

    >>> one, two = pyburn.ones(3), pyburn.full((3,), 2.0)
    >>> weight, bias = pyburn.nn.utils.fuse_conv_bn_weights(pyburn.ones(3, 2, 1, 1), None, one, one, 0.0, two, None)
    >>> bias.tolist()
    [-2.0, -2.0, -2.0]
    """
    return _nn._fuse_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Returns a linear layer equivalent to `linear` followed by `bn`; both must be in evaluation mode.

    Args:
        linear: The linear layer.
        bn: The batch normalization.

    Raises:
        AssertionError: A layer is in training mode, or the numbers of features do not match.

    >>> linear, bn = pyburn.nn.Linear(2, 3).eval(), pyburn.nn.BatchNorm1d(3).eval()
    >>> pyburn.nn.utils.fuse_linear_bn_eval(linear, bn)
    Linear(in_features=2, out_features=3, bias=True)
    """
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Returns the weight and bias of the fused linear layer.

    Args:
        linear_w: The weight of the layer.
        linear_b: Its bias, or None.
        bn_rm: The running mean.
        bn_rv: The running variance.
        bn_eps: The epsilon.
        bn_w: The scale.
        bn_b: The offset.

    >>> one = pyburn.ones(3)
    >>> weight, bias = pyburn.nn.utils.fuse_linear_bn_weights(pyburn.ones(3, 2), None, 0 * one, one, 0.0, 2 * one, one)
    >>> weight[0].tolist(), bias.tolist()
    ([2.0, 2.0], [1.0, 1.0, 1.0])
    """
    return _nn._fuse_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _check_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
