"""pyburn: a lightweight deep-learning framework with a C++20 core and a Python interface, inspired by Burn.

Rarely used names are imported lazily on first access; `__init__.pyi` maps each name to its module.
"""

from . import _core, _tensor_autograd
from ._core import *  # noqa: F403  (the operations, generated from their schemas)
from ._core import Tensor, __version__
from ._device import BackendKind, backends, device, get_default_device, set_default_device, synchronize
from ._on_demand import on_demand as _on_demand
from ._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

_tensor_autograd.install()

from . import autograd, tensor  # noqa: E402
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from .tensor import (  # noqa: E402
    Distribution,
    as_tensor,
    asarray,
    broadcast_shapes,
    can_cast,
    conj,
    einsum,
    empty_permuted,
    empty_strided,
    finfo,
    from_dlpack,
    from_numpy,
    frombuffer,
    get_printoptions,
    iinfo,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_same_size,
    is_signed,
    is_tensor,
    isreal,
    nonzero,
    numel,
    printoptions,
    rand,
    random_tensor,
    real,
    result_type,
    scalar_tensor,
    set_printoptions,
    tensordot,
    unique,
    unique_consecutive,
)

TensorPy = Tensor


def _places() -> dict[str, str]:
    """Maps each public name to its module, read from the stub file; functions defined in the stub itself are in composites."""
    if not _found:
        import pathlib
        import re

        stub = pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
        _found["summary"] = "nn.summary"
        _found.update(dict.fromkeys(re.findall(r"^def (\w+)\(", stub, re.MULTILINE), "composites"))
        _found.update({name: place for place, name in re.findall(r"^from \.([\w.]*) import \w+ as (\w+)$", stub, re.MULTILINE)})
    return _found


_found: dict[str, str] = {}
# Not in the stub, where they would create an import cycle that mypy cannot resolve.
_MODULES = ("config", "dashboard", "func", "inference", "io", "module", "nn", "optim", "train")
__getattr__, __dir__ = _on_demand(__name__, *_MODULES, places=_places)
