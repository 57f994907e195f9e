"""Small modules of PyTorch that steer other devices or other ways to run: here they answer, and do nothing. Those that are not there at all
are in `absent`."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, Optional

from .. import _core, amp, jit, nn
from .._device import synchronize
from .._random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .._tensor_autograd import RemovableHandle
from . import operators
from .absent import AbsentModule, absent, is_absent
from .finder import VERSIONS


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Does nothing."""


def _false(*args: Any, **kwargs: Any) -> bool:
    return False


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0


def _pass_through(model: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Gives what it was given, as a function or a decorator."""
    return model if model is not None else lambda function: function


def _run_now(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What torch.jit.fork would do later."""
    return function(*args, **kwargs)


class _CudaAutocast(amp.autocast):  # type: ignore[misc]
    """autocast of torch.cuda.amp and torch.cpu.amp: without a type of device."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype=dtype or _core.bfloat16, enabled=enabled, cache_enabled=cache_enabled)


class _Scope(contextlib.ContextDecorator):
    """A context and a decorator that changes nothing, whatever it is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


@contextlib.contextmanager
def _fork_rng(*args: Any, enabled: bool = True, **kwargs: Any) -> Iterator[None]:
    """A scope after which the generator is where it was."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


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
        "synchronize": lambda device=None: synchronize(),
        "set_device": _nothing,
        "init": _nothing,
        "memory_allocated": _zero,
        "max_memory_allocated": _zero,
        "memory_reserved": _zero,
        "max_memory_reserved": _zero,
        "reset_peak_memory_stats": _nothing,
        "is_bf16_supported": _false,
        "get_rng_state_all": list,
        "set_rng_state": _nothing,
        "set_rng_state_all": _nothing,
    }


def _sparse() -> dict[str, Any]:
    from .torch_module import sparse_coo_tensor

    return {"mm": _core.mm, "sum": _core.sum, "softmax": _core.softmax, "FloatTensor": sparse_coo_tensor, "LongTensor": sparse_coo_tensor}


def _cuda() -> dict[str, Any]:
    refused = ("current_device", "get_device_name", "get_device_properties", "get_device_capability", "Event", "Stream", "current_stream")
    names: dict[str, Any] = {name: absent(f"torch.cuda.{name}") for name in refused}
    graphs = {name: absent(f"torch.cuda.{name}") for name in ("CUDAGraph", "graph", "nccl", "comm", "memory", "nvtx")}
    scopes: dict[str, Any] = dict.fromkeys(("device", "device_of", "stream"), _Scope)
    answers = {
        "is_current_stream_capturing": _false,
        "memory_summary": lambda *args, **kwargs: "",
        "OutOfMemoryError": _core.OutOfMemoryError,
    }
    return {**_device_names(), **names, **scopes, **answers, "_initialized": False, "default_generators": (), **graphs}


_COMPILER = {
    **dict.fromkeys(("disable", "allow_in_graph", "assume_constant_result", "substitute_in_graph"), _pass_through),
    **dict.fromkeys(("is_compiling", "is_dynamo_compiling", "is_exporting"), _false),
    **dict.fromkeys(("reset", "cudagraph_mark_step_begin", "mark_static_address", "mark_dynamic", "graph_break"), _nothing),
}
_OVERRIDES = {
    **dict.fromkeys(("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like"), _false),
    "TorchFunctionMode": _Scope,
}


def _conversions() -> dict[str, Any]:
    """Flags of how `module.to` puts new values into parameters. They are kept and have no effect: a parameter stays the object it was."""
    flags = {"overwrite": False, "swap": False}
    setters = {f"set_{flag}_module_params_on_conversion": lambda value, flag=flag: flags.update({flag: value}) for flag in flags}
    return setters | {f"get_{flag}_module_params_on_conversion": lambda flag=flag: flags[flag] for flag in flags}


def _activities() -> Any:
    import enum

    return enum.Enum("ProfilerActivity", ["CPU", "CUDA", "XPU", "MTIA", "HPU", "PrivateUse1"])


def _config() -> dict[str, Any]:
    return {"show": lambda: "pyburn: USE_MKL=OFF, USE_CUDA=OFF", "parallel_info": lambda: f"threads: {_core.get_num_threads()}"}


def _types() -> dict[str, Any]:
    names = {"Number": int | float | bool, "_int": int, "_float": float, "_bool": bool, "_size": tuple, "Device": Any}
    return {**names, "_dtype": _core.DType, "Storage": absent("torch.types.Storage")}


def _jit() -> dict[str, Any]:
    passed = (
        "script",
        "trace",
        "trace_module",
        "freeze",
        "optimize_for_inference",
        "script_if_tracing",
        "_script_if_tracing",
        "script_method",
    )
    names: dict[str, Any] = dict.fromkeys((*passed, "unused", "export", "interface", "_overload", "_overload_method"), _pass_through)
    names.update(ignore=jit.ignore, Final=Final, annotate=jit.annotate, isinstance=isinstance, TracerWarning=_TracerWarning)
    names.update(is_scripting=_false, is_tracing=_false, set_fusion_strategy=_nothing, fork=_run_now, _fork=_run_now)
    names.update(
        ScriptModule=_ScriptedModule,
        RecursiveScriptModule=_ScriptedModule,
        ScriptFunction=_ScriptedFunction,
        wait=_pass_through,
        _wait=_pass_through,
    )
    names.update(Attribute=lambda value, kind: value)
    return {**names, "save": absent("torch.jit.save"), "load": absent("torch.jit.load")}


class _TracerWarning(Warning):
    """A warning that is never given: nothing is traced."""


class _ScriptedModule(nn.Module):  # type: ignore[misc]
    """A class may derive from it; other modules are none, as they are not scripted."""


class _ScriptedFunction:
    """Nothing is one: functions are not scripted."""


def _jit_annotations() -> dict[str, Any]:
    import typing

    lists = {f"BroadcastingList{n}": typing.List for n in range(1, 7)}  # noqa: UP006  (it is indexed by a type)
    return {**lists, **{name: getattr(typing, name) for name in ("List", "Dict", "Tuple", "Optional", "Union", "Any")}}


def _distributed() -> dict[str, Any]:
    refused = ("init_process_group", "destroy_process_group", "all_reduce", "all_gather", "broadcast", "barrier", "new_group", "reduce")
    names = {name: absent(f"torch.distributed.{name}") for name in refused}
    answers = dict.fromkeys(
        ("is_available", "is_initialized", "is_nccl_available", "is_gloo_available", "is_torchelastic_launched"), _false
    )
    return {**names, **answers, "get_rank": _zero, "get_world_size": lambda *args: 1}


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


def _multiprocessing() -> dict[str, Any]:
    import multiprocessing

    names = {name: getattr(multiprocessing, name) for name in multiprocessing.__all__}
    return {**names, "set_sharing_strategy": _nothing, "get_sharing_strategy": lambda: "file_descriptor"}


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
    """Masks of attention that sees no later key; they differ where there are more keys than queries."""

    def upper_left(*size: int) -> Any:
        return _core.ones(*size, dtype=_core.bool).tril()

    def lower_right(*size: int) -> Any:
        return _core.ones(*size, dtype=_core.bool).tril(size[1] - size[0])

    return {"causal_upper_left": upper_left, "causal_lower_right": lower_right}


_FUNCTIONAL = """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum
meshgrid norm split tensordot unique unique_consecutive"""
_MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "torch.__config__": _config,
    "torch._C": lambda: {
        **dict.fromkeys(("_log_api_usage_once", "_get_tracing_state", "_jit_set_profiling_mode"), _nothing),
        "DispatchKeySet": lambda key: frozenset((key,)),
        "DisableTorchFunctionSubclass": _Scope,
    },
    "torch._C._nn": lambda: {"_parse_to": _parse_to},
    "torch.__future__": _conversions,
    "torch._dynamo": lambda: _COMPILER,
    "torch._jit_internal": lambda: {**_jit(), "Optional": Optional},
    "torch.accelerator": lambda: {
        **_device_names(),
        **dict.fromkeys(("current_accelerator", "set_device_idx", "set_device_index"), _nothing),
        **dict.fromkeys(("current_device_idx", "current_device_index"), _zero),
        "device_index": _Scope,
    },
    "torch.backends": dict,
    "torch.backends.cpu": lambda: {"get_cpu_capability": _core._simd_level},
    "torch.backends.cuda": lambda: {
        **dict.fromkeys(("is_built", "flash_sdp_enabled", "mem_efficient_sdp_enabled", "can_use_flash_attention"), _false),
        **dict.fromkeys(("enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "enable_cudnn_sdp"), _nothing),
        "math_sdp_enabled": lambda: True,
        "sdp_kernel": _Scope,
    },
    "torch.backends.cuda.matmul": lambda: {"allow_tf32": False, "allow_fp16_reduced_precision_reduction": False},
    "torch.backends.cudnn": lambda: {
        "benchmark": False,
        "deterministic": True,
        "enabled": False,
        "allow_tf32": False,
        "is_available": _false,
        "version": _nothing,
        "flags": _Scope,
    },
    "torch.backends.mkl": lambda: {"is_available": _false},
    "torch.backends.mkldnn": lambda: {"is_available": _false, "enabled": False, "flags": _Scope},
    "torch.backends.mps": lambda: {"is_available": _false, "is_built": _false},
    "torch.backends.opt_einsum": lambda: {"is_available": _false, "enabled": False, "strategy": None},
    "torch.backends.openmp": lambda: {"is_available": _false},
    "torch.autograd.profiler": lambda: {
        "record_function": _Scope,
        **{name: absent(f"torch.autograd.profiler.{name}") for name in ("emit_itt", "emit_nvtx", "load_nvprof", "profile")},
    },
    "torch.compiler": lambda: _COMPILER,
    "torch.cpu": lambda: {**_device_names(), "is_available": lambda: True, "current_device": lambda: "cpu"},
    "torch.cpu.amp": lambda: {"autocast": _CudaAutocast, "GradScaler": amp.GradScaler},
    "torch.cuda": _cuda,
    "torch.cuda.amp": lambda: {"autocast": _CudaAutocast, "GradScaler": amp.GradScaler},
    "torch.distributed": _distributed,
    "torch.functional": lambda: {name: getattr(importlib.import_module("pyburn"), name) for name in _FUNCTIONAL.split()},
    "torch.nn._reduction": reductions,
    "torch.nn.attention.bias": _causal_biases,
    "torch.nn.common_types": _common_types,
    "torch.fx": lambda: {"wrap": _pass_through},
    "torch.jit": _jit,
    "torch.jit.annotations": _jit_annotations,
    "torch.library": operators.names_of_library,
    "torch.mps": _device_names,
    "torch.multiprocessing": _multiprocessing,
    "torch.onnx": lambda: {"export": absent("torch.onnx.export"), "is_in_onnx_export": _false, "register_custom_op_symbolic": _nothing},
    "torch.onnx.symbolic_helper": lambda: {"parse_args": lambda *kinds: lambda function: function},
    "torch.ops": operators.names_of_ops,
    "torch.overrides": lambda: _OVERRIDES,
    "torch.profiler": lambda: {
        **{name: absent(f"torch.profiler.{name}") for name in ("profile", "schedule", "supported_activities", "tensorboard_trace_handler")},
        "record_function": _Scope,
        "kineto_available": _false,
        "ProfilerActivity": _activities(),
    },
    "torch.random": lambda: {
        "manual_seed": manual_seed,
        "seed": seed,
        "initial_seed": initial_seed,
        "get_rng_state": get_rng_state,
        "set_rng_state": set_rng_state,
        "fork_rng": _fork_rng,
    },
    "torch.serialization": lambda: vars(importlib.import_module(f"{__package__}.serialization")),
    "torch.sparse": _sparse,
    "torch.types": _types,
    "torch.utils": dict,
    "torch.utils._python_dispatch": lambda: {"is_traceable_wrapper_subclass": _false, "TorchDispatchMode": _Scope},
    "torch.utils.dlpack": lambda: {"from_dlpack": importlib.import_module("pyburn").from_dlpack, "to_dlpack": lambda x: x.__dlpack__()},
    "torch.utils.flop_counter": lambda: vars(importlib.import_module(f"{__package__}.flop_counter")),
    "torch.utils.hooks": lambda: {"RemovableHandle": RemovableHandle},
    "torch.version": lambda: {"__version__": VERSIONS["torch"], "cuda": None, "hip": None, "git_version": "pyburn"},
    "torch.xpu": _device_names,
}
_MAKERS["torch.cuda.amp.autocast_mode"] = _MAKERS["torch.cuda.amp"]
_MAKERS["torch.cuda.amp.grad_scaler"] = _MAKERS["torch.cuda.amp"]
NAMES = frozenset(_MAKERS)


class _Namespace(ModuleType):
    """A module whose parts are imported when they are asked for, and whose missing names are told."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            with contextlib.suppress(ModuleNotFoundError):
                return importlib.import_module(f"{self.__name__}.{name}")
        if name[:1].isupper():  # a class, which may stand in an annotation
            return absent(f"{self.__name__}.{name}")
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
    return name in NAMES or name == LAYERS or name.startswith(LAYERS + ".") or is_absent(name)


def namespace(name: str) -> ModuleType:
    """The module of a name, such as torch.fx."""
    if is_absent(name):
        missing = AbsentModule(name, "A part of PyTorch that is not there: it can be imported, and raises when it is used.")
        missing.__dict__.update(_MAKERS[name]() if name in NAMES else {}, __path__=[])
        return missing
    if name not in NAMES:
        layers = _Layers(name, "Layers under the names of PyTorch's files.")
        layers.__path__ = []
        return layers
    module = _Namespace(name, "A module of PyTorch that has no meaning here: it answers, and does nothing.")
    module.__dict__.update({key: value for key, value in _MAKERS[name]().items() if key == "__version__" or not key.startswith("__")})
    module.__path__ = []
    return module
