"""Methods of PyTorch's tensors and modules that only other devices and sparse tensors give a meaning to."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

from .. import _core, autograd, nn
from ..nn import Module
from ..tensor.memory_format import strided

_MISSING = object()
_SEVERAL_DEVICES = ("DistributedDataParallel", "gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs")
_ELSEWHERE = ("is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_vulkan", "is_xla", "is_xpu")


def _no_cuda(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("[cuda] there is no CUDA in pyburn: torch.cuda.is_available() is False; use .to(device) with a device of pyburn")


def _itself(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


def _places(self: Any) -> Any:
    """Where a dense tensor that stands for a sparse one is not zero: (axes, elements)."""
    return self.nonzero().t()


def _values(self: Any) -> Any:
    return self[tuple(_places(self))]


class Patches:
    """Attributes that are there while `import torch` means pyburn."""

    def __init__(self) -> None:
        from .absent import absent
        from .legacy_types import type_of_tensor
        from .namespaces import namespace, reductions

        self.added: dict[Any, dict[str, Any]] = {
            _core.Tensor: {
                "cuda": _no_cuda,
                "is_cuda": False,
                "is_sparse": False,
                "is_quantized": False,
                **dict.fromkeys(_ELSEWHERE, False),
                "is_meta": property(lambda self: self.device.type == "meta"),
                "layout": strided,
                "_cdata": property(id),  # tells one tensor from another
                "pin_memory": _itself,
                "is_pinned": lambda self: False,
                "to_dense": _itself,  # sparse tensors are kept as dense ones
                "to_sparse": _itself,
                "coalesce": _itself,
                "is_coalesced": lambda self: True,
                "indices": _places,
                "_indices": _places,
                "values": _values,
                "_values": _values,
                "type": type_of_tensor(_core.Tensor.type),
            },
            autograd: {"profiler": namespace("torch.autograd.profiler")},
            nn.functional: {"_Reduction": SimpleNamespace(**reductions())},
            nn.parallel: {name: absent(f"torch.nn.parallel.{name}") for name in _SEVERAL_DEVICES},
            nn: {"modules": importlib.import_module("pyburn.nn.modules"), "_reduction": namespace("torch.nn._reduction")},
            Module: {
                "cuda": _no_cuda,
                "compile": lambda self, *args, **kwargs: None,
                "backend": _MISSING,  # an attribute as any other, also where it names a device of pyburn
            },
        }
        self.before: list[tuple[Any, str, Any]] = []

    def apply(self) -> None:
        _core._set_printed_package("torch")
        for owner, attributes in self.added.items():
            for name, value in attributes.items():
                self.before.append((owner, name, owner.__dict__.get(name, _MISSING)))
                if value is _MISSING:
                    delattr(owner, name)
                elif name in ("__repr__", "type") or not hasattr(owner, name):
                    setattr(owner, name, value)

    def undo(self) -> None:
        _core._set_printed_package("pyburn")
        for owner, name, value in self.before:
            if value is not _MISSING:
                setattr(owner, name, value)
            elif name in owner.__dict__:
                delattr(owner, name)
        self.before = []
