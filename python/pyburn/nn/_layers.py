"""All layers implemented in C++."""

from .._core import _nn
from .._html import module_html
from .signature import CallSignature

_nn.Module.__signature__ = CallSignature()
_nn.Module._repr_html_ = module_html

__all__ = [name for name, value in vars(_nn).items() if isinstance(value, type) and not value.__module__.startswith("pyburn.nn.")]
globals().update({name: getattr(_nn, name) for name in __all__})
