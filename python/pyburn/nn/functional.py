"""Layers and losses as functions, under PyTorch's names."""

from .._core import batch_norm, conv2d, cross_entropy, linear, log_softmax, mse_loss, nll_loss, relu, sigmoid, softmax, tanh

__all__ = [
    "batch_norm",
    "conv2d",
    "cross_entropy",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]
