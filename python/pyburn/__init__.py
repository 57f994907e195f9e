"""pyburn: deep learning without the weight. A C++20 core with a Python face, in the spirit of Burn."""

import gc as _gc

# Importing makes many classes and no garbage: the collector would only walk them over and over.
_collects = _gc.isenabled()
_gc.disable()

from . import _core, _imports, _tensor_autograd, backend  # noqa: E402
from ._cmake import cmake_dir  # noqa: E402
from ._core import *  # noqa: E402, F403  (the operations, generated from their schemas)
from ._core import Tensor, __version__  # noqa: E402
from .plugins import load_library  # noqa: E402

_tensor_autograd.install()

from . import amp, autograd, inference, io, linalg, nn, optim, return_types, special, tensor  # noqa: E402
from ._device import BackendKind, backends, device, get_default_device, set_default_device  # noqa: E402
from ._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state  # noqa: E402
from .amp.autocast_mode import autocast, clear_autocast_cache, get_autocast_dtype, is_autocast_enabled  # noqa: E402
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402
from .io import load, save  # noqa: E402
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

_imports.install()
TensorPy = Tensor
if _collects:
    _gc.enable()


def __getattr__(name: str) -> object:
    """What most programs do not need is loaded when it is asked for."""
    import importlib

    if name in (
        "compat",
        "config",
        "cuda",
        "dashboard",
        "data",
        "distributions",
        "func",
        "jit",
        "lr_scheduler",
        "masked",
        "module",
        "signal",
        "testing",
        "train",
        "utils",
    ):
        return importlib.import_module(f".{name}", __name__)
    if name == "summary":
        return importlib.import_module(".nn.summary", __name__).summary
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    names = importlib.import_module(".script_names", __name__)
    if name in names.__all__:
        return getattr(names, name)
    if not _imports.has_file(name):  # else a module of pyburn's that is about to be imported
        found = importlib.import_module(".compat.finder", __name__).borrowed_name(name)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
