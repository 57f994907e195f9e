"""Small modules of PyTorch that steer other devices or other ways to run: here they answer, and do nothing."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .. import _core, amp, nn
from .._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Does nothing."""


def _false(*args: Any, **kwargs: Any) -> bool:
    return False


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0


def _refusal(what: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"[compat] {what} is not there in pyburn")

    refuse.__name__ = what.rpartition(".")[2]
    return refuse


def _pass_through(model: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Gives what it was given, as a function or a decorator."""
    return model if model is not None else lambda function: function


class _CudaAutocast(amp.autocast):  # type: ignore[misc]
    """torch.cuda.amp.autocast: without a type of device."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype=dtype or _core.bfloat16, enabled=enabled, cache_enabled=cache_enabled)


def _device_names() -> dict[str, Any]:
    """What torch.cuda, torch.mps and torch.xpu have in common."""
    return {
        "is_available": _false,
        "is_initialized": _false,
        "device_count": _zero,
        "manual_seed": _nothing,
        "manual_seed_all": _nothing,
        "seed": _nothing,
        "empty_cache": _nothing,
        "synchronize": _nothing,
        "set_device": _nothing,
        "init": _nothing,
        "memory_allocated": _zero,
        "max_memory_allocated": _zero,
        "memory_reserved": _zero,
        "max_memory_reserved": _zero,
        "reset_peak_memory_stats": _nothing,
        "is_bf16_supported": _false,
    }


def _sparse() -> dict[str, Any]:
    from .torch_module import sparse_coo_tensor

    return {"mm": _core.mm, "sum": _core.sum, "softmax": _core.softmax, "FloatTensor": sparse_coo_tensor, "LongTensor": sparse_coo_tensor}


def _cuda() -> dict[str, Any]:
    refused = ("current_device", "get_device_name", "get_device_properties", "get_device_capability", "Event", "Stream", "current_stream")
    return {**_device_names(), **{name: _refusal(f"torch.cuda.{name}") for name in refused}, "OutOfMemoryError": _core.OutOfMemoryError}


def _jit() -> dict[str, Any]:
    passed = ("script", "trace", "ignore", "unused", "export", "freeze", "optimize_for_inference", "script_if_tracing")
    names: dict[str, Any] = dict.fromkeys(passed, _pass_through)
    names.update(
        {"is_scripting": _false, "is_tracing": _false, "ScriptModule": nn.Module, "Final": Any, "annotate": lambda kind, value: value}
    )
    return {**names, "save": _refusal("torch.jit.save"), "load": _refusal("torch.jit.load")}


def _distributed() -> dict[str, Any]:
    refused = ("init_process_group", "destroy_process_group", "all_reduce", "all_gather", "broadcast", "barrier", "new_group", "reduce")
    names = {name: _refusal(f"torch.distributed.{name}") for name in refused}
    return {**names, "is_available": _false, "is_initialized": _false, "get_rank": _zero, "get_world_size": lambda *args: 1}


def _multiprocessing() -> dict[str, Any]:
    import multiprocessing

    names = {name: getattr(multiprocessing, name) for name in multiprocessing.__all__}
    return {**names, "set_sharing_strategy": _nothing, "get_sharing_strategy": lambda: "file_descriptor"}


_MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "torch.accelerator": lambda: {**_device_names(), "current_accelerator": _nothing, "current_device_index": _zero},
    "torch.backends": dict,
    "torch.backends.cpu": lambda: {"get_cpu_capability": lambda: "DEFAULT"},
    "torch.backends.cuda": lambda: {"is_built": _false, "sdp_kernel": contextlib.nullcontext, "enable_flash_sdp": _nothing},
    "torch.backends.cuda.matmul": lambda: {"allow_tf32": False, "allow_fp16_reduced_precision_reduction": False},
    "torch.backends.cudnn": lambda: {
        "benchmark": False,
        "deterministic": True,
        "enabled": False,
        "allow_tf32": False,
        "is_available": _false,
        "version": _nothing,
        "flags": contextlib.nullcontext,
    },
    "torch.backends.mkl": lambda: {"is_available": _false},
    "torch.backends.mkldnn": lambda: {"is_available": _false, "enabled": False},
    "torch.backends.mps": lambda: {"is_available": _false, "is_built": _false},
    "torch.backends.openmp": lambda: {"is_available": _false},
    "torch.cuda": _cuda,
    "torch.cuda.amp": lambda: {"autocast": _CudaAutocast, "GradScaler": amp.GradScaler},
    "torch.distributed": _distributed,
    "torch.jit": _jit,
    "torch.mps": _device_names,
    "torch.multiprocessing": _multiprocessing,
    "torch.onnx": lambda: {"export": _refusal("torch.onnx.export")},
    "torch.random": lambda: {
        "manual_seed": manual_seed,
        "seed": seed,
        "initial_seed": initial_seed,
        "get_rng_state": get_rng_state,
        "set_rng_state": set_rng_state,
    },
    "torch.serialization": lambda: vars(importlib.import_module(f"{__package__}.serialization")),
    "torch.sparse": _sparse,
    "torch.utils": dict,
    "torch.version": lambda: {"__version__": "2.15.0", "cuda": None, "hip": None, "git_version": "pyburn"},
    "torch.xpu": _device_names,
}
_MAKERS["torch.cuda.amp.grad_scaler"] = _MAKERS["torch.cuda.amp"]
NAMES = frozenset(_MAKERS)


class _Namespace(ModuleType):
    """A module whose parts are imported when they are asked for, and whose missing names are told."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            with contextlib.suppress(ModuleNotFoundError):
                return importlib.import_module(f"{self.__name__}.{name}")
        raise AttributeError(f"pyburn has nothing that stands for {self.__name__}.{name} (pyburn.compat)")


class _Layers(ModuleType):
    """torch.nn.modules and its files, torch.nn.modules.linear: the layers of pyburn.nn, whatever the file."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(nn, name, None)
        return found if isinstance(found, type) else importlib.import_module(f"{LAYERS}.{name}")


LAYERS = "torch.nn.modules"


def is_small(name: str) -> bool:
    """Whether a name is one of the modules made here."""
    return name in NAMES or name == LAYERS or name.startswith(LAYERS + ".")


def namespace(name: str) -> ModuleType:
    """The module of a name."""
    if name not in NAMES:
        layers = _Layers(name, "Layers under the names of PyTorch's files.")
        layers.__path__ = []
        return layers
    module = _Namespace(name, "A module of PyTorch that has no meaning here: it answers, and does nothing.")
    module.__dict__.update({key: value for key, value in _MAKERS[name]().items() if not key.startswith("__")})
    module.__path__ = []
    return module
