"""PyTorch as a backend: tensors are stored on a PyTorch device and computed by its kernels.

Autograd is pyburn's: no PyTorch tensor requires a gradient. If PyTorch has no kernel for a dtype, the operation runs in float32 (half
precision) or on the host with the kernel of the numpy backend (mostly unsigned integers).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ... import _core
from ..interface import Backend, Capabilities
from ..numpy_backend import NumpyBackend
from .direct import DirectKernels
from .kernels import OtherKernels

TORCH_DTYPES = {getattr(_core, name): getattr(torch, name) for name in (
    "float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
)}  # fmt: skip
DTYPES = {theirs: ours for ours, theirs in TORCH_DTYPES.items()}
HALVES = (torch.float16, torch.bfloat16)
NATIVE, IN_FLOAT32, ON_HOST = range(3)


class TorchBackend(DirectKernels, OtherKernels, Backend):
    """Runs operations on a PyTorch device."""

    def __init__(self, device: torch.device) -> None:
        self.torch_device = device
        self.name = f"torch:{device}"
        self.capabilities = Capabilities(
            dtypes=[d for d in TORCH_DTYPES if d is not _core.float64] if device.type == "mps" else None,
            host_memory=device.type == "cpu",
            asynchronous=device.type != "cpu",
        )
        self._library = getattr(torch, device.type, None)  # torch.cuda, torch.mps
        self._numpy = NumpyBackend()
        self._undivided = {row["name"] for row in _core._op_table() if row["row"] and not row["has_decomposition"]}
        self._native = dict(self._kernels)  # operations that run natively in every dtype seen so far
        self._routes: dict[tuple[str, Any], int] = {}

    # --- running operations ---

    def supports(self, op: str, dtype: _core.DType) -> bool:
        return op in self._kernels or (op in NumpyBackend._kernels and op in self._undivided)

    def run(self, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        kernel = self._native.get(op)
        if kernel is None:
            return self._run_routed(op, inputs, attributes, outputs)
        try:
            results = kernel(self, *inputs, **attributes)
        except (NotImplementedError, RuntimeError, IndexError):
            return self._run_routed(op, inputs, attributes, outputs)
        return self._fresh(results if isinstance(results, tuple) else (results,), inputs)

    def _fresh(self, results: tuple[Any, ...], inputs: list[Any]) -> tuple[Any, ...]:
        for result in results:
            for x in inputs:
                if result is x:
                    return tuple(r.clone() for r in results)
        return results

    def _run_routed(self, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        """Finds and caches how an operation runs in a dtype."""
        key = op, inputs[-1].dtype if inputs and inputs[-1] is not None else attributes.get("dtype")
        route = self._routes.get(key, NATIVE if op in self._kernels else ON_HOST)
        try:
            return self._fresh(self._run_by(route, op, inputs, attributes, outputs), inputs)
        except (NotImplementedError, RuntimeError, IndexError) as error:
            if route == ON_HOST or isinstance(error, (_core.PyburnError, torch.OutOfMemoryError)):
                raise
            if not is_missing(error):
                self._explain(error, op, inputs, attributes, outputs)
            halves = route == NATIVE and any(x is not None and x.dtype in HALVES for x in inputs)
            self._routes[key] = IN_FLOAT32 if halves else ON_HOST
            self._native.pop(op, None)
            return self._run_routed(op, inputs, attributes, outputs)

    def _explain(self, error: Exception, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> None:
        """Raises the error of pyburn for invalid values, such as an index out of range or a singular matrix."""
        if self.torch_device.type == "cpu" and op in NumpyBackend._kernels:
            self._run_by(ON_HOST, op, inputs, attributes, outputs)
        raise _core.ArgumentError(f"[{op.split('.')[0]}] {first_line(error)}") from error

    def _run_by(self, route: int, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        if route == ON_HOST:
            arrays = [None if x is None else (x.float() if x.dtype is torch.bfloat16 else x).cpu().numpy() for x in inputs]
            results = self._numpy.run(op, arrays, attributes, outputs)
            return tuple(torch.from_numpy(np.array(r)).to(self.torch_device) for r in results)
        if route == IN_FLOAT32:
            inputs = [x.float() if x is not None and x.dtype in HALVES else x for x in inputs]
        return super().run(op, inputs, attributes, outputs)

    def synchronize(self) -> None:
        if self.torch_device.type == "cuda":
            torch.cuda.synchronize(self.torch_device)
        elif self._library is not None and hasattr(self._library, "synchronize"):
            self._library.synchronize()

    def memory(self) -> dict[str, int] | None:
        if self.torch_device.type != "cuda":
            return None
        of = self.torch_device
        return {
            "in_use": torch.cuda.memory_allocated(of),
            "reserved": torch.cuda.memory_reserved(of),
            "peak": torch.cuda.max_memory_allocated(of),
        }

    # --- storage ---

    def allocate(self, dtype: _core.DType, elements: int) -> Any:
        return torch.empty(elements, dtype=TORCH_DTYPES[dtype], device=self.torch_device)

    def as_strided(self, buffer: Any, dtype: _core.DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        return torch.as_strided(buffer, shape, strides, offset)

    read = as_strided

    def write(self, buffer: Any, dtype: _core.DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, value: Any) -> None:
        if tuple(value.shape) != shape:
            raise ValueError(f"the kernel of {self.name} gave a tensor of the wrong shape: got {tuple(value.shape)} for {shape}")
        target = torch.as_strided(buffer, shape, strides, offset)
        with torch.inference_mode(target.is_inference()):  # created in inference mode
            target.copy_(value)

    def adopt(self, array: Any, dtype: _core.DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        fits = array.dtype is TORCH_DTYPES[dtype] and array.shape == shape and array.stride() == strides
        return array if fits and array.device == self.torch_device else None

    def describe(self, array: Any) -> tuple[tuple[int, ...], Any]:
        return tuple(array.shape), DTYPES[array.dtype]

    # --- transfer ---

    def upload(self, data: memoryview, dtype: _core.DType) -> Any:
        host = torch.empty(len(data) // TORCH_DTYPES[dtype].itemsize, dtype=TORCH_DTYPES[dtype])
        host.view(torch.uint8).numpy()[:] = data
        return host.to(self.torch_device)

    def download(self, array: Any, dtype: _core.DType) -> Any:
        return self.host_view(array.cpu().contiguous(), dtype)

    def host_view(self, buffer: Any, dtype: _core.DType) -> Any:
        return (buffer.view(torch.uint16) if buffer.dtype is torch.bfloat16 else buffer).numpy()

    def share(self, exporter: Any) -> Any:
        array = exporter.detach() if isinstance(exporter, torch.Tensor) else torch.from_dlpack(exporter)
        return array if array.device == self.torch_device and array.dtype in DTYPES else None

    def strides(self, array: Any) -> tuple[int, ...]:
        return array.stride()


_backends: dict[torch.device, TorchBackend] = {}


def make(name: str = "") -> TorchBackend:
    """Returns the backend of a PyTorch device, such as ``cpu``, ``cuda:0`` or ``mps``; without a name, of the default device.

    Raises:
        DeviceError: The device is not available or holds no data.
    """
    try:
        device = torch.empty(0, device=name or torch.get_default_device()).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise _core.DeviceError(f"[device] torch:{name} is not available here: {first_line(error)}") from error
    if device.type == "meta":
        raise _core.DeviceError("[device] torch:meta holds no data: use 'meta'")
    return _backends.setdefault(device, TorchBackend(device))


def first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


def is_missing(error: Exception) -> bool:
    """Returns whether the error means that PyTorch has no kernel, as opposed to an invalid call."""
    return isinstance(error, NotImplementedError) or "not implemented for" in str(error) or "not supported" in str(error)
