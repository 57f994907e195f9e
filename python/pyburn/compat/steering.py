"""Functions of PyTorch that steer what pyburn does not have (other devices, the compiler, telemetry), as a table."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from .absent import absent

# module[,module ...]  kind: names. What has no effect stands under a comment that says why nothing is lost; `needs` and `absent` raise.
_TABLE = """
# Seeds, caches and statistics of no devices. PyTorch has torch.cpu for programs that do not know their device.
torch.cuda,torch.mps,torch.xpu,torch.accelerator,torch.cpu  nothing: manual_seed manual_seed_all seed seed_all empty_cache
torch.cuda,torch.mps,torch.xpu,torch.accelerator,torch.cpu  nothing: reset_peak_memory_stats
torch.cuda,torch.mps,torch.xpu,torch.accelerator,torch.cpu  zero: memory_allocated max_memory_allocated memory_reserved max_memory_reserved
torch.cuda,torch.mps,torch.xpu,torch.accelerator,torch.cpu  false: is_initialized is_bf16_supported
torch.cuda,torch.mps,torch.xpu,torch.accelerator  false: is_available
torch.cuda,torch.mps,torch.xpu,torch.accelerator  zero: device_count
torch.cuda,torch.mps,torch.xpu,torch.accelerator  needs: init set_device set_rng_state get_rng_state current_device
torch.cpu          true: is_available
torch.cpu          one: device_count
torch.cpu          nothing: set_device
torch.accelerator  needs: set_device_idx set_device_index current_device_idx current_device_index
torch.accelerator  nothing: current_accelerator
torch.accelerator  scope: device_index
torch.cuda         needs: get_device_name get_device_properties get_device_capability current_stream
torch.cuda         false: is_current_stream_capturing
torch.cuda         absent: Event Stream CUDAGraph graph nccl comm memory
# Programs enter these with None or with the device of a tensor, which is the CPU.
torch.cuda         scope: device device_of stream
# Marks for a profiler; starting one raises.
torch.cuda.nvtx    scope: range
torch.cuda.nvtx    nothing: mark range_push range_pop
torch.autograd.profiler,torch.profiler  scope: record_function
torch.autograd.profiler  absent: emit_itt emit_nvtx load_nvprof profile
torch.profiler     false: kineto_available
torch.profiler     absent: profile schedule supported_activities tensorboard_trace_handler
# Telemetry, the tracer and hints for the JIT; tensors inside the transforms of torch.func are ordinary ones; no __torch_function__ exists.
torch._C           nothing: _log_api_usage_once _get_tracing_state _jit_set_profiling_mode
torch._C           false: _are_functorch_transforms_active
torch._C           scope: DisableTorchFunctionSubclass
torch.overrides    false: has_torch_function has_torch_function_unary has_torch_function_variadic
torch.overrides    absent: TorchFunctionMode
torch.utils._python_dispatch  false: is_traceable_wrapper_subclass
torch.utils._python_dispatch  absent: TorchDispatchMode
# Nothing is compiled, scripted or traced: code runs as it is, with the same results. `fork` runs at once, so `wait` has the result.
torch.compiler,torch._dynamo  same: disable allow_in_graph assume_constant_result substitute_in_graph
torch.compiler,torch._dynamo  false: is_compiling is_dynamo_compiling is_exporting
torch.compiler,torch._dynamo  nothing: reset cudagraph_mark_step_begin mark_static_address mark_dynamic graph_break
torch.jit,torch._jit_internal  same: script trace trace_module freeze optimize_for_inference script_if_tracing _script_if_tracing
torch.jit,torch._jit_internal  same: script_method unused export interface _overload _overload_method wait _wait
torch.jit,torch._jit_internal  false: is_scripting is_tracing
torch.jit,torch._jit_internal  nothing: set_fusion_strategy
torch.jit,torch._jit_internal  absent: save load
torch.fx           same: wrap
# Switches between kernels that give the same results: pyburn has one of each kind.
torch.backends.cuda  false: is_built flash_sdp_enabled mem_efficient_sdp_enabled can_use_flash_attention
torch.backends.cuda  true: math_sdp_enabled
torch.backends.cuda  nothing: enable_flash_sdp enable_math_sdp enable_mem_efficient_sdp enable_cudnn_sdp
torch.backends.cuda  scope: sdp_kernel
torch.backends.cudnn,torch.backends.mkldnn  scope: flags
torch.backends.cudnn  nothing: version
torch.backends.cudnn,torch.backends.mkl,torch.backends.mkldnn,torch.backends.mps,torch.backends.openmp  false: is_available
torch.backends.opt_einsum  false: is_available
torch.backends.mps  false: is_built
torch.distributed  false: is_available is_initialized is_nccl_available is_gloo_available is_torchelastic_launched
torch.distributed  zero: get_rank
torch.distributed  one: get_world_size
torch.distributed  absent: init_process_group destroy_process_group all_reduce all_gather broadcast barrier new_group reduce
# pyburn's exporter has rows for its own operations; symbolic functions for PyTorch's have no effect on it.
torch.onnx         nothing: register_custom_op_symbolic unregister_custom_op_symbolic
torch.onnx         false: is_in_onnx_export
# Tensors are sent between processes through shared memory, whatever the strategy.
torch.multiprocessing  nothing: set_sharing_strategy
"""


class NoDeviceError(NotImplementedError, AssertionError):
    """A device is needed that pyburn does not have. PyTorch raises AssertionError or RuntimeError here."""


class Scope(contextlib.ContextDecorator):
    """A context manager and decorator without effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def same(model: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Returns its argument, as a function or a decorator."""
    return model if model is not None else lambda function: function


def _always(value: Any) -> Callable[[str, str], Any]:
    return lambda place, name: lambda *args, **kwargs: value


def _needs(place: str, name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise NoDeviceError(f"[compat] {place}.{name} needs a device that does not exist: {place}.is_available() is False")

    return refused


_KINDS: dict[str, Callable[[str, str], Any]] = {
    **{kind: _always(value) for kind, value in (("nothing", None), ("false", False), ("true", True), ("zero", 0), ("one", 1))},
    "same": lambda place, name: same,
    "scope": lambda place, name: Scope,
    "needs": _needs,
    "absent": lambda place, name: absent(f"{place}.{name}"),
}
STEERED: dict[str, dict[str, Any]] = {}
for _row in _TABLE.strip().splitlines():
    if not _row.startswith("#"):
        _head, _, _names = _row.partition(": ")
        _places, _kind = _head.split()
        for _place in _places.split(","):
            STEERED.setdefault(_place, {}).update({name: _KINDS[_kind](_place, name) for name in _names.split()})
