"""Test utilities: comparisons and random tensors (PyTorch's torch.testing), and pyburn.testing.conformance for backends."""

from __future__ import annotations

from .comparison import assert_allclose, assert_close, make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
