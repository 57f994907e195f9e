"""Special functions, under PyTorch's names."""

from ._core import log_softmax, logsumexp, softmax

__all__ = ["log_softmax", "logsumexp", "softmax"]
