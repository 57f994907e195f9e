"""Linear layers."""

from .._core._nn import Bilinear, Identity, Linear

__all__ = ["Bilinear", "Identity", "Linear"]
