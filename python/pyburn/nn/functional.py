"""Layers and losses as functions, under PyTorch's names."""

from .._core import (
    batch_norm,
    conv2d,
    cross_entropy,
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
)

__all__ = [
    "batch_norm",
    "conv2d",
    "cross_entropy",
    "embedding",
    "embedding_bag",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]
