"""Layers, activations and losses as functions, with PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import (
    adaptive_avg_pool1d,
    affine_grid,
    alpha_dropout,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    batch_norm,
    bilinear,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    channel_shuffle,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    ctc_loss,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    embedding,
    embedding_bag,
    feature_alpha_dropout,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d_with_indices,
    gelu,
    glu,
    grid_sample,
    group_norm,
    gumbel_softmax,
    hardshrink,
    hinge_embedding_loss,
    huber_loss,
    instance_norm,
    interpolate,
    kl_div,
    l1_loss,
    layer_norm,
    linear,
    local_response_norm,
    log_softmax,
    logsigmoid,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    margin_ranking_loss,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    normalize,
    one_hot,
    pad,
    pairwise_distance,
    pdist,
    pixel_shuffle,
    pixel_unshuffle,
    poisson_nll_loss,
    prelu,
    rms_norm,
    scaled_dot_product_attention,
    sigmoid,
    smooth_l1_loss,
    soft_margin_loss,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    triplet_margin_loss,
)
from .._core import adaptive_max_pool1d as adaptive_max_pool1d_with_indices
from .._core import adaptive_max_pool2d as adaptive_max_pool2d_with_indices
from .._core import adaptive_max_pool3d as adaptive_max_pool3d_with_indices
from .._core import channel_shuffle as native_channel_shuffle
from .._core import col2im as fold
from .._core import im2col as unfold
from . import legacy as _legacy
from .attention import multi_head_attention_forward
from .conv import deform_conv2d
from .linear_cross_entropy import linear_cross_entropy
from .loss_functions import triplet_margin_with_distance_loss
from .pool_functions import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    fractional_max_pool2d,
    fractional_max_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from .upsampling import upsample, upsample_bilinear, upsample_nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import Tensor


def _with_inplace(name: str, arguments: int = 0) -> Callable[..., Tensor]:
    """Returns the function of that name with an additional argument `inplace`, as in PyTorch."""
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
rrelu = _with_inplace("rrelu", 3)
relu_ = _core.Tensor.relu_
leaky_relu_ = _core.Tensor.leaky_relu_
elu_ = _core.Tensor.elu_
selu_ = _core.Tensor.selu_
celu_ = _core.Tensor.celu_
hardtanh_ = _core.Tensor.hardtanh_
threshold_ = _core.Tensor.threshold_
rrelu_ = _core.Tensor.rrelu_

globals().update({name: _legacy.with_legacy_arguments(getattr(_core, name), arguments) for name, arguments in _legacy.LOSSES.items()})
globals().update({name: _legacy.with_implicit_axis(getattr(_core, name)) for name in ("softmax", "log_softmax", "softmin")})


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Computes the Gaussian negative log-likelihood loss.

    Args:
        input: The predicted mean.
        target: The target.
        var: The predicted variance, a tensor or a number.
        full: Whether to include the constant term.
        eps: The lower bound of the variance.
        reduction: "mean", "sum" or "none".

    Returns:
        A 0-d tensor, or one loss per element with reduction="none".

    >>> pyburn.nn.functional.gaussian_nll_loss(pyburn.zeros(1), pyburn.ones(1), 0.5)
    """
    if not isinstance(var, _core.Tensor):
        var = _core.full_like(input, var)
    return _core.gaussian_nll_loss(input, target, var, full, eps, reduction)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "deform_conv2d",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "multi_head_attention_forward",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
