"""Files: safetensors, and writes that happen entirely or not at all."""

from .._core._io import atomic_write
from . import safetensors

__all__ = ["atomic_write", "safetensors"]
