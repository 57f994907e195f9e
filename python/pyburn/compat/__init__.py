"""Scripts written for PyTorch run on pyburn: `import torch` means pyburn.

    python -m pyburn.compat script.py --epochs 2        # a script, unmodified

    import pyburn.compat
    pyburn.compat.install()                             # or from here on in a program
    import torch

Modules that pyburn has are themselves under PyTorch's name (`torch.nn is pyburn.nn`), names that only steer other devices are harmless, and
what is missing raises an error that names it. pyburn never imports this package; what it changes in pyburn is the table of `patches`.
Processes that multiprocessing starts from here, such as the workers of a DataLoader, install it as well.
"""

from __future__ import annotations

import functools
import importlib
import sys
from multiprocessing import spawn
from typing import Any

from .finder import ROOTS, TorchFinder
from .patches import Patches

__all__ = ["install", "installed", "uninstall"]

# A module and a function of its parent have the same name: an import would put the module in the place of the function.
_FUNCTIONS = {
    "torch.autograd.gradcheck": "pyburn.autograd.check",
    **{f"torch.nn.parallel.{name}": "pyburn.nn.parallel" for name in ("data_parallel", "parallel_apply", "replicate")},
}
_preparation_data = spawn.get_preparation_data


class _Installed:
    """Installs compat where it is unpickled."""

    def __init__(self, own_torchvision: bool) -> None:
        self.own_torchvision = own_torchvision

    def __reduce__(self) -> Any:
        return functools.partial(install, own_torchvision=self.own_torchvision), ()


def _prepared(name: str) -> dict[str, Any]:
    """What multiprocessing sends to a spawned process before that imports the main module, which may import torch."""
    return {"compat": _Installed("torchvision" in _finder.packages), **_preparation_data(name)} if _finder else _preparation_data(name)


_finder: TorchFinder | None = None
_patches: Patches | None = None


def install(*, own_torchvision: bool = True) -> None:
    """Makes `import torch` and `import torchvision` resolve to pyburn in this process.

    Args:
        own_torchvision: Whether torchvision is that of compat. Otherwise it is the installed package, run on pyburn: it has all of its
            models, including those for detection, video and optical flow, and pyburn provides its compiled operations (`nms`,
            `roi_align`, `deform_conv2d` ...).

    Raises:
        RuntimeError: PyTorch or torchvision is imported already.

    >>> pyburn.compat.install()
    >>> import torch
    >>> torch.ones(2)
    tensor([1., 1.])
    >>> pyburn.compat.uninstall()
    """
    global _finder, _patches
    if _finder is not None:
        return
    for name in ROOTS:
        if name in sys.modules:
            raise RuntimeError(f"[compat] {name} is imported already: call pyburn.compat.install() before")
    own = ROOTS if own_torchvision else [name for name in ROOTS if name != "torchvision"]
    _finder, _patches = TorchFinder(own), Patches()
    _patches.apply()
    sys.meta_path.insert(0, _finder)
    spawn.get_preparation_data = _prepared
    for name, place in _FUNCTIONS.items():
        sys.modules[name] = importlib.import_module(place)


def uninstall() -> None:
    """Undoes `install`: the next `import torch` imports PyTorch, if it is installed.

    >>> pyburn.compat.uninstall()
    """
    global _finder, _patches
    if _finder is None or _patches is None:
        return
    sys.meta_path.remove(_finder)
    spawn.get_preparation_data = _preparation_data
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS]:
        del sys.modules[name]
    _patches.undo()
    _finder, _patches = None, None


def installed() -> bool:
    """Returns whether `import torch` resolves to pyburn.

    >>> pyburn.compat.installed()
    False
    """
    return _finder is not None
