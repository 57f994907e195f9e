"""pyburn: deep learning without the weight. A C++20 core with a Python face, in the spirit of Burn.

What most programs do not need is loaded when it is asked for; `__init__.pyi` says where each name is.
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
    """The module of each name, as the stub has it. The functions that the stub declares itself are those of script_names."""
    if not _found:
        import pathlib
        import re

        stub = pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
        _found["summary"] = "nn.summary"
        _found.update(dict.fromkeys(re.findall(r"^def (\w+)\(", stub, re.MULTILINE), "script_names"))
        _found.update({name: place for place, name in re.findall(r"^from \.([\w.]*) import \w+ as (\w+)$", stub, re.MULTILINE)})
    return _found


_found: dict[str, str] = {}
# These are not in the stub, where mypy could not resolve the cycle of imports that they would make.
_MODULES = ("config", "dashboard", "func", "inference", "io", "module", "nn", "optim", "train")
__getattr__, __dir__ = _on_demand(__name__, *_MODULES, places=_places)
