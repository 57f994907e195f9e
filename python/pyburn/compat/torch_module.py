"""The module `torch`: pyburn, and the names of PyTorch that pyburn does not need."""

from __future__ import annotations

import functools
import importlib
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any

import pyburn

from .. import _core
from ..amp import GradScaler
from ..steps import CompiledFunction
from ..tensor import storage
from ..tensor.memory_format import (  # noqa: F401
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from . import serialization
from .absent import DTYPES, PLACES, AbsentDType, absent
from .finder import VERSIONS
from .namespaces import NAMES
from .serialization import load, save
from .tensor_types import TYPES, dtype_of

__version__ = f"{VERSIONS['torch']}+pyburn{pyburn.__version__}"
__path__: list[str] = []  # a package: what is below it is found by the import hook


class AbsentDevice(str):
    """A device that is not there, such as "cuda:0": scripts may name it, and what should live on it raises."""

    type = property(lambda self: self.partition(":")[0])
    index = property(lambda self: int(self.partition(":")[2]) if ":" in self else None)

    def __repr__(self) -> str:
        return f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"


class _Devices(type):
    """The class of torch.device: a call gives a device of pyburn, or one that is not there."""

    def __call__(cls, type: Any = "cpu", index: int | None = None) -> Any:
        if isinstance(type, int):
            type, index = "cuda", type
        if isinstance(type, str) and type.partition(":")[0] in ("cuda", "hpu", "ipu", "mps", "mtia", "npu", "xla", "xpu"):
            return AbsentDevice(type if index is None else f"{type}:{index}")
        return _core.Device(type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (_core.Device, AbsentDevice))


class device(metaclass=_Devices):  # noqa: N801  (a name of PyTorch)
    """A device of pyburn, or the name of one of PyTorch's that is absent here.

    >>> device("cuda", 1)
    device(type='cuda', index=1)
    """


_EIGHT_BITS = {"float8_e4m3fn": (448.0, 0.125, 2.0**-6), "float8_e5m2": (57344.0, 0.25, 2.0**-14)}


def finfo(type: Any = None) -> Any:
    """Returns the limits of a floating dtype, including the 8-bit dtypes that pyburn has no tensors of.

    Args:
        type: The dtype; by default the default dtype.

    >>> finfo(pyburn.float16).max
    65504.0
    """
    if not isinstance(type, AbsentDType) or type.name not in _EIGHT_BITS:
        return pyburn.finfo(type)
    largest, eps, tiny = _EIGHT_BITS[type.name]
    return SimpleNamespace(max=largest, min=-largest, eps=eps, tiny=tiny, smallest_normal=tiny, bits=8, dtype=type.name)


sparse_coo = layout("sparse_coo")


def set_default_tensor_type(t: Any) -> None:
    """Sets the dtype of new tensors by a type such as torch.DoubleTensor."""
    _core.set_default_dtype(dtype_of(t))


def _always(value: Any = None) -> Any:
    return lambda *args, **kwargs: value


def compile(model: Any = None, **options: Any) -> Any:
    """Compiles a function as pyburn.compile does, without a warning if it runs as Python. Modules run as they are.

    Args:
        model: The function or module; None for use as a decorator with options.
        **options: PyTorch's options; only `disable` has an effect.

    Returns:
        The compiled function, or the module.
    """
    if model is None:
        return lambda function: compile(function, **options)
    if options.get("disable") or isinstance(model, type) or not isinstance(model, FunctionType | MethodType):
        return model
    return CompiledFunction(model, quiet=True)


# Results of pyburn do not depend on the number of threads or the order of events: there are no other algorithms, and no warnings of them.
use_deterministic_algorithms = _always()
are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled = _always(True), _always(False)
# Products of float32 are computed in float32, which every precision allows.
set_float32_matmul_precision, get_float32_matmul_precision = _always(), _always("highest")
set_warn_always, is_warn_always_enabled = _always(), _always(False)  # Python's filters say how often a warning is shown
set_num_interop_threads = _always()  # there is one pool of threads


def is_inference(input: Any) -> bool:
    """Whether a tensor was made under inference_mode."""
    return input.is_inference()


def typename(obj: Any) -> str:
    """The name of the class of an object."""
    return obj.type() if isinstance(obj, _core.Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def sparse_coo_tensor(indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    """A dense tensor with these values: pyburn has no sparse ones."""
    places, numbers = pyburn.as_tensor(indices).long(), pyburn.as_tensor(values, dtype=dtype)
    extents = list(size) if size is not None else [*(int(n) + 1 for n in places.amax(1)), *numbers.shape[1:]]
    result = _core.zeros(*extents, dtype=numbers.dtype, device=device)
    return result.index_put_(tuple(places), numbers, accumulate=True)


UntypedStorage, TypedStorage = storage.UntypedStorage, storage.TypedStorage
orgqr = pyburn.linalg.householder_product
spmm = _core.mm  # of dense matrices: there are no sparse ones
resolve_conj = resolve_neg = pyburn.conj  # the tensor itself: dtypes are real, and negations are computed at once
_segment_reduce = _core.segment_reduce
native_channel_shuffle = _core.channel_shuffle
sparse_csr, sparse_csc, jagged = layout("sparse_csr"), layout("sparse_csc"), layout("jagged")
legacy_contiguous_format = contiguous_format
SymInt, SymFloat, SymBool = int, float, bool


def _check_with(error_type: Any, condition: Any, message: Any = None) -> None:
    """Raises this error unless the condition, or every element of it, is true."""
    if not (condition.all() if isinstance(condition, _core.Tensor) else condition):
        raise error_type(message() if callable(message) else message or "Expected cond to be True, but got False.")


def _check_is_size(i: int, message: Any = None, *, max: int | None = None) -> None:
    _check(i >= 0 and (max is None or i <= max), message)


_assert = functools.partial(_check_with, AssertionError)
_check, _check_tensor_all = functools.partial(_check_with, RuntimeError), functools.partial(_check_with, RuntimeError)
_check_tensor_all_with = _check_with
_check_value, _check_index = functools.partial(_check_with, ValueError), functools.partial(_check_with, IndexError)
_check_type, _check_not_implemented = functools.partial(_check_with, TypeError), functools.partial(_check_with, NotImplementedError)


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of softmax, as code with gradients of its own writes it."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """nn.functional.grid_sample with its modes as numbers."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    return _core.grid_sample(input, grid, mode, ("zeros", "border", "reflection")[padding_mode], align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def is_storage(obj: Any) -> bool:
    """Whether an object is the storage of a tensor."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """The coordinates of a grid, one tensor per axis. A function of Python: programs ask it for `__kwdefaults__`."""
    return pyburn.meshgrid(*tensors, indexing=indexing)


def _missing(name: str) -> AttributeError:
    return AttributeError(f"pyburn.compat does not provide torch.{name}")


_OWN = ("distributions", "hub")  # modules of pyburn.compat
_NOT_PYTORCHS = {"backend", "backends", "cli", "config", "dashboard", "data", "inference", "io", "module", "server", "train"}


def __getattr__(name: str) -> Any:
    if name in TYPES:
        return TYPES[name]
    if name in DTYPES:
        return DTYPES[name]
    if (
        f"torch.{name}" in NAMES or f"torch.{name}" in PLACES or name in _OWN
    ):  # before pyburn's: torch.backends is another thing than pyburn.backends
        return importlib.import_module(f"torch.{name}")
    if not name.startswith("__") and hasattr(pyburn, name) and name not in _NOT_PYTORCHS:
        return getattr(pyburn, name)
    if name == "torch":  # torch.torch is torch
        return importlib.import_module("torch")
    if name in ("ScriptModule", "ScriptFunction"):
        return getattr(importlib.import_module("torch.jit"), name)
    if name.startswith("_foreach_"):
        from .foreach import NAMES as LISTS
        from .foreach import foreach

        if name.removeprefix("_foreach_") in LISTS:
            return foreach(name.removeprefix("_foreach_"))
    if name == "vmap":
        return importlib.import_module("pyburn.func").vmap
    if name.endswith("Type") or name in (
        "Event",
        "PyTorchFileReader",
        "PyTorchFileWriter",
        "Stream",
    ):  # of torch.jit, and what stands in annotations
        return absent(f"torch.{name}")
    raise _missing(name)


__all__ = [name for name in dir(pyburn) if not name.startswith("_") and name not in _NOT_PYTORCHS]
__all__ += ["GradScaler", "compile", "load", "save", "serialization"]
