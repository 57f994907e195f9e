"""torch.utils.hooks: handles of hooks."""

from ..nn.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
