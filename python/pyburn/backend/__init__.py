"""Backends, which run operations: write one in Python, register it under a name, stack decorators on it.

A backend is a class with one kernel per operation; operations without a kernel are decomposed into others::

    import numpy as np
    from pyburn import backend

    class Mine(backend.Backend):
        name = "mine"

        @backend.kernel
        def exp(self, x):
            return np.exp(x)

    backend.register("mine", Mine)
    pyburn.ones(3, device="mine").exp()

Decorators wrap a backend: ``backend.autodiff(Mine())`` and ``backend.stack("autodiff", "trace", "mine")`` return devices. Packages
provide backends in the entry-point group ``pyburn.backends``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from . import gpu
from .registration import discover, register, stack

if TYPE_CHECKING:
    from .interface import Backend, Capabilities, kernel
    from .wgsl_kernel import WgslKernel

__all__ = ["Backend", "Capabilities", "WgslKernel", "discover", "gpu", "kernel", "register", "stack"]


def __getattr__(name: str) -> Any:
    # The interface needs numpy, which `import pyburn` does not import; decorators are resolved by name.
    if name in ("Backend", "Capabilities", "kernel"):
        from . import interface

        return getattr(interface, name)
    if name == "WgslKernel":
        from .wgsl_kernel import WgslKernel

        return WgslKernel
    if not name.startswith("_") and any(entry["name"] == name and entry["decorator"] for entry in _core._backends()):
        return lambda inner: stack(name, inner)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
