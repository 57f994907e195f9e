"""pyburn: a lightweight deep-learning framework with a C++20 core and a Python interface, inspired by Burn.

Rarely used names are imported lazily on first access; `__init__.pyi` maps each name to its module.
"""

from . import _core, _tensor_autograd
from ._core import *  # noqa: F403  (the operations, generated from their schemas)
from ._core import Tensor, __version__
from ._device import BackendKind, backends, device, get_default_device, set_default_device, synchronize
from ._on_demand import on_demand as _on_demand
from ._on_demand import stub_places as _stub_places
from ._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

_tensor_autograd.install()

from . import autograd, tensor  # noqa: E402
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402

globals().update({name: getattr(tensor, name) for name in tensor.__all__ if name != "tensor"})  # pyburn.tensor is a module that is called
TensorPy = Tensor


def _places() -> dict[str, str]:
    """Maps each public name to its module, read from the stub file; functions defined in the stub itself are in composites."""
    if not _found:
        import pathlib
        import re

        stub = pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
        _found["summary"] = "nn.summary"
        _found.update(dict.fromkeys(re.findall(r"^def (\w+)\(", stub, re.MULTILINE), "composites"))
        _found.update(_stub_places(__file__))
    return _found


_found: dict[str, str] = {}
# Not in the stub, where they would create an import cycle that mypy cannot resolve.
_MODULES = ("chemistry", "config", "dashboard", "eeg", "func", "imaging", "inference", "io", "module", "nn", "onnx", "optim", "train")
__getattr__, __dir__ = _on_demand(__name__, *_MODULES, places=_places)
