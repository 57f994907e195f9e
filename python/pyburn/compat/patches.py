"""What compat adds to pyburn's classes and modules while it is installed, and removes afterwards.

This table is the only place where compat changes pyburn: a row has an owner (a class or module) and its new attributes. An attribute that
the owner defines itself is left alone, unless it is in REPLACE; the value ABSENT removes it.
"""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

from .. import _core, autograd, nn
from ..nn import Module
from ..nn.module_state import IncompatibleKeys
from ..tensor.memory_format import strided
from ..utils import data
from .absent import absent
from .base_classes import base_class_methods
from .layer_methods import layer_methods
from .namespaces import namespace, reductions
from .steering import NoDeviceError
from .tensor_types import type_of_tensor

ABSENT = object()
REPLACE = {"type", "backend", "__init__", "forward", "extra_repr", "__init_subclass__"}
_SEVERAL_DEVICES = ("DistributedDataParallel", "gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs")
_ELSEWHERE = "is_cuda is_ipu is_maia is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse is_vulkan is_xla is_xpu"


def _no_cuda(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise NoDeviceError("[cuda] there is no CUDA in pyburn: torch.cuda.is_available() is False; use .to(device) with a device of pyburn")


def _itself(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


def _places(self: Any) -> Any:
    """The indices of the non-zero elements of the dense tensor that represents a sparse one: (dimensions, elements)."""
    return self.nonzero().t()


def _values(self: Any) -> Any:
    return self[tuple(_places(self))]


def _check_subclass(cls: Any, **options: Any) -> None:
    """Refuses subclasses of Tensor whose methods would never be called."""
    for name in ("__torch_function__", "__torch_dispatch__"):
        if name in vars(cls):
            raise NotImplementedError(f"[compat] {cls.__name__}.{name} would never be called: pyburn has no dispatch to tensor subclasses")


def _repeated(n: int) -> Any:
    """Returns a function that repeats a number n times and converts sequences to tuples."""
    return lambda value: tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


def _table() -> dict[Any, dict[str, Any]]:
    importlib.import_module("pyburn.nn.modules")  # which makes the modules of its files
    tensor = {
        "__init_subclass__": classmethod(_check_subclass),
        "cuda": _no_cuda,
        **dict.fromkeys(_ELSEWHERE.split(), False),
        "is_cpu": property(lambda self: self.device.type not in ("meta", "null")),
        "is_meta": property(lambda self: self.device.type == "meta"),
        "layout": strided,
        "_cdata": property(id),  # tells one tensor from another
        "pin_memory": _itself,  # all memory is the host's
        "is_pinned": lambda self: False,
        **dict.fromkeys(("to_dense", "to_sparse", "coalesce"), _itself),  # sparse tensors are kept as dense ones
        "is_coalesced": lambda self: True,
        **dict.fromkeys(("indices", "_indices"), _places),
        **dict.fromkeys(("values", "_values"), _values),
        "type": type_of_tensor,
    }
    module = {
        "cuda": _no_cuda,
        "compile": lambda self, *args, **kwargs: None,  # the module runs as it is, with the same results
        "backend": ABSENT,  # an attribute as any other, also where it names a device of pyburn
    }
    repeated = {f"_{name}": _repeated(n) for n, name in enumerate(("single", "pair", "triple", "quadruple"), 1)}
    return {
        _core.Tensor: tensor,
        _core.Generator: {"device": property(lambda self: _core.Device("cpu"))},  # one generator serves every device
        Module: module,
        **base_class_methods(),
        **layer_methods(),
        autograd: {"profiler": namespace("torch.autograd.profiler")},
        nn: {"_reduction": namespace("torch.nn._reduction")},
        nn.functional: {"_Reduction": SimpleNamespace(**reductions())},
        nn.parallel: {name: absent(f"torch.nn.parallel.{name}") for name in _SEVERAL_DEVICES},
        data: {
            **{name: namespace(f"torch.utils.data.{name}") for name in ("_utils", "dataloader")},
            **dict.fromkeys(("dataset", "distributed", "sampler"), data),
        },
        sys.modules["pyburn.nn.modules.module"]: {"_EXTRA_STATE_KEY_SUFFIX": "_extra_state", "_IncompatibleKeys": IncompatibleKeys},
        sys.modules["pyburn.nn.modules.utils"]: {**repeated, "_ntuple": _repeated},
    }


class Patches:
    """Adds the attributes of compat to the classes and modules of pyburn, and removes them.

    >>> patches = Patches()
    >>> patches.apply()  # doctest: +SKIP
    >>> patches.undo()  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self.before: list[tuple[Any, str, Any]] = []

    def apply(self) -> None:
        _core._set_printed_package("torch")
        for owner, attributes in _table().items():
            for name, value in attributes.items():
                own = owner.__dict__.get(name, ABSENT)
                if value is ABSENT:
                    delattr(owner, name)
                elif name in REPLACE or own is ABSENT:
                    setattr(owner, name, value)
                else:
                    continue
                self.before.append((owner, name, own))

    def undo(self) -> None:
        _core._set_printed_package("pyburn")
        for owner, name, value in reversed(self.before):
            if value is not ABSENT:
                setattr(owner, name, value)
            else:
                delattr(owner, name)
        self.before = []
