"""Small modules of PyTorch: what `steering` says of them, and what they compute. Modules that do not exist at all are in `absent`."""

from __future__ import annotations

import contextlib
import enum
import importlib
import multiprocessing
import re
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, Optional

from .. import _core, amp, jit, nn
from .._device import synchronize
from .._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from . import operators, weak
from .absent import AbsentModule, absent, is_absent
from .finder import VERSIONS
from .steering import STEERED, NoDeviceError


def _set_states(states: Any = (), *args: Any) -> None:
    """Restores the states of no generators."""
    if len(states):
        raise NoDeviceError(f"[compat] expected the states of 0 generators, one for each device: got {len(states)}")


def _devices() -> dict[str, Any]:
    return {"synchronize": lambda device=None: synchronize(), "get_rng_state_all": list, "set_rng_state_all": _set_states}


class _CudaAutocast(amp.autocast):  # type: ignore[misc]
    """autocast of torch.cuda.amp and torch.cpu.amp: without a type of device."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype=dtype or _core.bfloat16, enabled=enabled, cache_enabled=cache_enabled)


@contextlib.contextmanager
def _fork_rng(*args: Any, enabled: bool = True, **kwargs: Any) -> Iterator[None]:
    """A context manager after which the generator is where it was."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


def _sparse() -> dict[str, Any]:
    from .torch_module import sparse_coo_tensor

    return {"mm": _core.mm, "sum": _core.sum, "softmax": _core.softmax, "FloatTensor": sparse_coo_tensor, "LongTensor": sparse_coo_tensor}


def _conversions() -> dict[str, Any]:
    """Flags of how `module.to` puts new values into parameters. They are kept and have no effect: a parameter stays the object it was."""
    flags = {"overwrite": False, "swap": False}
    setters = {f"set_{flag}_module_params_on_conversion": lambda value, flag=flag: flags.update({flag: value}) for flag in flags}
    return setters | {f"get_{flag}_module_params_on_conversion": lambda flag=flag: flags[flag] for flag in flags}


class _TracerWarning(Warning):
    """A warning that is never given: nothing is traced."""


class _ScriptedModule(nn.Module):  # type: ignore[misc]
    """A class may derive from it. No other module is an instance, because modules are not scripted."""


class _ScriptedFunction:
    """The type of no function, because functions are not scripted."""


def _jit() -> dict[str, Any]:
    return {
        **dict.fromkeys(("ScriptModule", "RecursiveScriptModule"), _ScriptedModule),
        **dict.fromkeys(("fork", "_fork"), lambda function, *args, **kwargs: function(*args, **kwargs)),
        **{"ignore": jit.ignore, "annotate": jit.annotate, "Final": Final, "isinstance": isinstance, "TracerWarning": _TracerWarning},
        **{"ScriptFunction": _ScriptedFunction, "Attribute": lambda value, kind: value},
    }


def _jit_annotations() -> dict[str, Any]:
    lists = {f"BroadcastingList{n}": typing.List for n in range(1, 7)}  # noqa: UP006  (it is indexed by a type)
    return {**lists, **{name: getattr(typing, name) for name in ("List", "Dict", "Tuple", "Optional", "Union", "Any")}}


def _parse_to(
    *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False, copy: bool = False, memory_format: Any = None
) -> tuple[Any, Any, bool, Any]:
    """The arguments of `Tensor.to` in order: device, dtype, non_blocking, memory_format."""
    for given in args:
        if isinstance(given, _core.Tensor):
            device, dtype = given.device, given.dtype
        elif isinstance(given, _core.DType):
            dtype = given
        elif isinstance(given, bool):
            non_blocking = given
        elif given is not None:
            device = given
    if isinstance(device, (str, int)):
        device = importlib.import_module("torch").device(device)
    return device, dtype, non_blocking, memory_format


def _spawn(fn: Any, args: Any = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn") -> Any:
    """torch.multiprocessing.spawn: runs fn(i, *args) in `nprocs` processes, and waits for them."""
    if not join:
        raise NotImplementedError("[compat] torch.multiprocessing.spawn with join=False is not implemented: use multiprocessing.Process")
    with multiprocessing.get_context(start_method).Pool(nprocs) as pool:
        for result in [pool.apply_async(fn, (i, *args)) for i in range(nprocs)]:
            result.get()


def _multiprocessing() -> dict[str, Any]:
    names = {name: getattr(multiprocessing, name) for name in multiprocessing.__all__}
    return {**names, "spawn": _spawn, "get_sharing_strategy": lambda: "file_descriptor"}


def _common_types() -> dict[str, Any]:
    """Aliases for annotations: a number, or a tuple of as many."""
    counts = ("any", "1", "2", "3", "4", "5", "6", "any_opt", "2_opt", "3_opt")
    return {f"_{kind}_{count}_t": Any for kind in ("size", "ratio", "scalar_or_tuple") for count in counts}


def reductions() -> dict[str, Any]:
    from ..nn.legacy import reduction

    def number(reduction: str) -> int:
        if reduction not in ("none", "mean", "elementwise_mean", "sum"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        return {"none": 0, "sum": 2}.get(reduction, 1)

    def text(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
        return reduction(size_average, reduce)

    return {"get_enum": number, "legacy_get_string": text, "legacy_get_enum": lambda *args, **kwargs: number(text(*args, **kwargs))}


def _causal_biases() -> dict[str, Any]:
    """Causal attention masks; they differ if there are more keys than queries."""
    return {
        "causal_upper_left": lambda *size: _core.ones(*size, dtype=_core.bool).tril(),
        "causal_lower_right": lambda *size: _core.ones(*size, dtype=_core.bool).tril(size[1] - size[0]),
    }


def _grouped(lists: Any, with_indices: bool = False) -> dict[Any, Any]:
    """_group_tensors_by_device_and_dtype: lists of tensors, split by the device and dtype of the tensors of the first list."""
    groups: dict[Any, Any] = {}
    for i, together in enumerate(zip(*lists, strict=True)):
        places, indices = groups.setdefault((together[0].device, together[0].dtype), ([[] for _ in lists], []))
        for place, tensor in zip(places, together, strict=True):
            place.append(tensor)
        indices += [i] if with_indices else []
    return groups


def _loading() -> dict[str, Any]:
    from ..data import iteration
    from ..utils import data

    iterations = {"_BaseDataLoaderIter": "Iteration", "_SingleProcessDataLoaderIter": "DirectIteration"}
    iterations["_MultiProcessingDataLoaderIter"] = "CrewIteration"
    names = {name: getattr(data, name) for name in ("DataLoader", "default_collate", "default_convert", "get_worker_info")}
    return {**names, **{name: getattr(iteration, ours) for name, ours in iterations.items()}, "_collate_fn_t": Callable[[list[Any]], Any]}


def _collating() -> dict[str, Any]:
    from ..data.collate import default_collate, default_convert

    numpy_strings = re.compile(r"[SaUO]")  # dtypes of arrays that are not converted to tensors
    return {"default_collate": default_collate, "default_convert": default_convert, "np_str_obj_array_pattern": numpy_strings}


def _of(module: str, *names: str) -> Callable[[], dict[str, Any]]:
    """The contents of a module, or these of its names."""

    def found() -> dict[str, Any]:
        everything = importlib.import_module(module, __package__)
        return {name: getattr(everything, name) for name in names} if names else vars(everything)

    return found


_FUNCTIONAL = """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum
meshgrid norm split tensordot unique unique_consecutive"""
_AMP: Callable[[], dict[str, Any]] = lambda: {"autocast": _CudaAutocast, "GradScaler": amp.GradScaler}  # noqa: E731
_MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "torch.__config__": lambda: {
        "show": lambda: "pyburn: USE_MKL=OFF, USE_CUDA=OFF",
        "parallel_info": lambda: f"threads: {_core.get_num_threads()}",
    },
    "torch._C": lambda: {"DispatchKeySet": lambda key: frozenset((key,))},
    "torch._C._nn": lambda: {"_parse_to": _parse_to},
    "torch.__future__": _conversions,
    "torch._jit_internal": lambda: {**_jit(), "Optional": Optional},
    "torch.backends": dict,
    "torch.backends.cpu": lambda: {"get_cpu_capability": _core._simd_level},
    "torch.backends.cuda.matmul": lambda: {"allow_tf32": False, "allow_fp16_reduced_precision_reduction": False},
    "torch.backends.cudnn": lambda: {"benchmark": False, "deterministic": True, "enabled": False, "allow_tf32": False},
    "torch.backends.mkldnn": lambda: {"enabled": False},
    "torch.backends.opt_einsum": lambda: {"enabled": False, "strategy": None},
    **dict.fromkeys(("torch.accelerator", "torch.mps", "torch.xpu"), _devices),
    "torch.cpu": lambda: {**_devices(), "current_device": lambda: "cpu"},
    **dict.fromkeys(("torch.cpu.amp", "torch.cuda.amp", "torch.cuda.amp.autocast_mode", "torch.cuda.amp.grad_scaler"), _AMP),
    "torch.cuda": lambda: {
        **_devices(),
        **{"memory_summary": lambda *args, **kwargs: "", "OutOfMemoryError": _core.OutOfMemoryError},
        **{"_initialized": False, "default_generators": ()},
    },
    "torch.functional": _of("pyburn", *_FUNCTIONAL.split()),
    "torch.nn._reduction": reductions,
    "torch.nn.attention.bias": _causal_biases,
    "torch.nn.common_types": _common_types,
    "torch.jit": _jit,
    "torch.jit.annotations": _jit_annotations,
    "torch.library": operators.names_of_library,
    "torch.multiprocessing": _multiprocessing,
    "torch.onnx": _of(".onnx_export"),
    "torch.onnx.symbolic_helper": lambda: {"parse_args": lambda *kinds: lambda function: function},
    "torch.ops": operators.names_of_ops,
    "torch.overrides": lambda: {"is_tensor_like": lambda x: isinstance(x, _core.Tensor)},
    "torch.profiler": lambda: {"ProfilerActivity": enum.Enum("ProfilerActivity", ["CPU", "CUDA", "XPU", "MTIA", "HPU", "PrivateUse1"])},
    "torch.random": lambda: {
        **{function.__name__: function for function in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state)},
        "fork_rng": _fork_rng,
    },
    "torch.serialization": _of(".serialization"),
    "torch.sparse": _sparse,
    "torch.types": lambda: {
        **{"Number": int | float | bool, "_int": int, "_float": float, "_bool": bool, "_size": tuple, "Device": Any},
        **{"_dtype": _core.DType, "Storage": absent("torch.types.Storage")},
    },
    "torch.utils": dict,
    "torch.utils._foreach_utils": lambda: {
        "_group_tensors_by_device_and_dtype": _grouped,
        **dict.fromkeys(("_device_has_foreach_support", "_has_foreach_support"), lambda *args: True),  # _foreach_* run on every device
        **dict.fromkeys(("_get_foreach_kernels_supported_devices", "_get_fused_kernels_supported_devices"), lambda: ["cpu"]),
    },
    "torch.utils.data._utils": dict,
    "torch.utils.data._utils.collate": _collating,
    "torch.utils.data._utils.worker": _of("pyburn.data.fetching", "WorkerInfo", "get_worker_info"),
    "torch.utils.data.dataloader": _loading,
    "torch.utils.dlpack": lambda: {"from_dlpack": importlib.import_module("pyburn").from_dlpack, "to_dlpack": lambda x: x.__dlpack__()},
    "torch.utils.flop_counter": _of(".flop_counter"),
    "torch.utils.hooks": _of("pyburn.nn.hooks", "RemovableHandle"),
    "torch.utils.weak": lambda: vars(weak),
    "torch.version": lambda: {"__version__": VERSIONS["torch"], "cuda": None, "hip": None, "git_version": "pyburn"},
}
NAMES = frozenset(_MAKERS) | frozenset(STEERED)


class _Namespace(ModuleType):
    """A module whose submodules are imported when they are asked for. Missing names raise an error."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            with contextlib.suppress(ModuleNotFoundError):
                return importlib.import_module(f"{self.__name__}.{name}")
        if name[:1].isupper():  # a class, which may stand in an annotation
            return absent(f"{self.__name__}.{name}")
        raise AttributeError(f"pyburn.compat does not provide {self.__name__}.{name}")


def is_small(name: str) -> bool:
    """Whether a module is made here."""
    return name in NAMES or is_absent(name)


def namespace(name: str) -> ModuleType:
    """Creates the module of a name, such as torch.fx."""
    kind = AbsentModule if is_absent(name) else _Namespace
    module = kind(name, "A module of PyTorch that pyburn.compat provides.")
    names = {**STEERED.get(name, {}), **_MAKERS.get(name, dict)()}
    module.__dict__.update({key: value for key, value in names.items() if key == "__version__" or not key.startswith("__")})
    module.__path__ = []  # type: ignore[attr-defined]
    return module
