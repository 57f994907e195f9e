"""Where PyTorch has the handles of hooks."""

from ..nn.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
