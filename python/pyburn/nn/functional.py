"""Layers, activations and losses as functions, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import (
    batch_norm,
    conv2d,
    cross_entropy,
    gelu,
    glu,
    hardshrink,
    linear,
    log_softmax,
    logsigmoid,
    mse_loss,
    nll_loss,
    one_hot,
    prelu,
    sigmoid,
    softmax,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import Tensor


def _with_inplace(name: str, arguments: int = 0) -> Callable[..., Tensor]:
    """The function of that name with `inplace` after its other arguments, as PyTorch has it."""
    plain, in_place = getattr(_core, name), getattr(_core.Tensor, name + "_")

    def function(input: Tensor, *given: Any, inplace: bool = False, **named: Any) -> Tensor:
        if len(given) > arguments:
            *given, inplace = given  # type: ignore[assignment]
        return (in_place if inplace else plain)(input, *given, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = plain.__doc__
    return function


relu = _with_inplace("relu")
relu6 = _with_inplace("relu6")
silu = _with_inplace("silu")
mish = _with_inplace("mish")
selu = _with_inplace("selu")
hardswish = _with_inplace("hardswish")
hardsigmoid = _with_inplace("hardsigmoid")
leaky_relu = _with_inplace("leaky_relu", 1)
elu = _with_inplace("elu", 1)
celu = _with_inplace("celu", 1)
hardtanh = _with_inplace("hardtanh", 2)
threshold = _with_inplace("threshold", 2)
    embedding,
    embedding_bag,
    linear,
    log_softmax,
    mse_loss,
    nll_loss,
    one_hot,
    pad,
    relu,
    sigmoid,
    softmax,
    tanh,
from .._core import (
    alpha_dropout,
    batch_norm,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    conv2d,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    gaussian_nll_loss,
    group_norm,
    hinge_embedding_loss,
    huber_loss,
    instance_norm,
    kl_div,
    l1_loss,
    layer_norm,
    linear,
    local_response_norm,
    log_softmax,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    normalize,
    pairwise_distance,
    poisson_nll_loss,
    relu,
    rms_norm,
    sigmoid,
    smooth_l1_loss,
    soft_margin_loss,
    softmax,
    softmin,
    tanh,
    triplet_margin_loss,
)

__all__ = [
    "alpha_dropout",
    "batch_norm",
    "celu",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "embedding",
    "embedding_bag",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "gaussian_nll_loss",
    "group_norm",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
from .._core import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    batch_norm,
    bilinear,
    channel_shuffle,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cross_entropy,
    interpolate,
    linear,
    log_softmax,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    mse_loss,
    nll_loss,
    pixel_shuffle,
    pixel_unshuffle,
    relu,
    scaled_dot_product_attention,
    sigmoid,
    softmax,
    tanh,
)
from .._core import col2im as fold
from .._core import im2col as unfold
from .pooling import adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d, max_pool1d, max_pool2d, max_pool3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "fold",
    "interpolate",
    "linear",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "prelu",
    "pad",
    "relu",
    "relu6",
    "selu",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mse_loss",
    "nll_loss",
    "pixel_shuffle",
    "pixel_unshuffle",
    "relu",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "normalize",
    "pairwise_distance",
    "poisson_nll_loss",
    "relu",
    "rms_norm",
    "sigmoid",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "tanh",
    "triplet_margin_loss",
    "unfold",
]
