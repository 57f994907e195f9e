"""The gated recurrent unit."""

from .._core._nn import GRU, GRUCell

__all__ = ["GRU", "GRUCell"]
