"""torch.ops and torch.library: operations of a program's own, and those of torchvision, whose compiled ones need PyTorch."""

from __future__ import annotations

import os
from typing import Any

from . import custom_ops
from .absent import absent


class Place:
    """torch.ops.place: its operations. Others can be named, and raise when they are called."""

    def __init__(self, name: str, **operations: Any) -> None:
        self.name = name
        self.__dict__.update(operations)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"torch.ops.{self.name}.{name}")


def _inferred(prototype: Any, /, *, mutates_args: Any, op_name: str = "") -> str:
    """torch.library.infer_schema."""
    found = custom_ops.infer_schema(prototype, op_name)
    if found is None:
        raise ValueError(f"infer_schema(func): the annotations of {prototype!r} have types that no schema has")
    return found


def _registration(name: str, *args: Any, **options: Any) -> Any:
    """register_vmap, as a function or a decorator, has nothing to do: vmap runs an operation for each element."""
    return next((argument for argument in args if callable(argument)), lambda function: function)


class Library:
    """A place of torch.ops: define() gives a schema, impl() a kernel."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, *args: Any, **options: Any) -> str:
        name, _, rest = schema.partition("(")
        custom_ops.define(f"{self.ns}::{name}", f"({rest}")
        return name

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name.name if isinstance(op_name, custom_ops.CustomOp) else str(op_name)
        custom_ops.impl(name if "::" in name else f"{self.ns}::{name}", key, fn)

    def fallback(self, fn: Any, dispatch_key: str = "", **options: Any) -> None:
        raise NotImplementedError("[compat] torch.library.Library.fallback is not implemented: operations have no dispatch keys")


def load_library(path: str) -> None:
    """Accepts the library of torchvision, whose operations are part of compat, and refuses others: they are compiled for PyTorch.

    Args:
        path: The path of the library.

    Raises:
        OSError: It is another library.

    >>> load_library("/site-packages/torchvision/_C.so")
    """
    folder, file = os.path.split(os.path.abspath(path))
    if os.path.basename(folder) != "torchvision" or not file.startswith("_C"):
        raise OSError(f"[compat] {path} is compiled for PyTorch, and cannot be loaded by pyburn")


def _of_torchvision() -> Place:
    from .torchvision import regions

    def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
        return regions.nms(dets, scores, iou_threshold)

    def roi_align(x: Any, rois: Any, scale: float, height: int, width: int, sampling_ratio: int, aligned: bool) -> Any:
        return regions.roi_align(x, rois, (height, width), scale, sampling_ratio, aligned)

    # These give a second result, which only their gradients in torchvision need.
    def roi_pool(x: Any, rois: Any, scale: float, height: int, width: int) -> Any:
        return regions.roi_pool(x, rois, (height, width), scale), None

    def ps_roi_align(x: Any, rois: Any, scale: float, height: int, width: int, sampling_ratio: int) -> Any:
        return regions.ps_roi_align(x, rois, (height, width), scale, sampling_ratio), None

    def ps_roi_pool(x: Any, rois: Any, scale: float, height: int, width: int) -> Any:
        return regions.ps_roi_pool(x, rois, (height, width), scale), None

    def deform_conv2d(x: Any, weight: Any, offset: Any, mask: Any, bias: Any, *numbers: Any) -> Any:
        sy, sx, py, px, dy, dx, _, _, use_mask = numbers
        return regions.deform_conv2d(x, offset, weight, bias, (sy, sx), (py, px), (dy, dx), mask if use_mask else None)

    functions = (nms, roi_align, roi_pool, ps_roi_align, ps_roi_pool, deform_conv2d)
    return Place(
        "torchvision",
        _cuda_version=lambda: -1,
        **{function.__name__: custom_ops.CustomOp(f"torchvision::{function.__name__}", function, None, {}) for function in functions},
    )


def names_of_ops() -> dict[str, Any]:
    """What torch.ops has."""
    return {"load_library": load_library, "torchvision": _of_torchvision()}


def names_of_library() -> dict[str, Any]:
    """What torch.library has."""
    registrations = {
        "register_fake": custom_ops.register_fake,
        "impl_abstract": custom_ops.register_fake,
        "register_autograd": custom_ops.register_autograd,
        "register_kernel": custom_ops.register_kernel,
        "define": custom_ops.define,
        "impl": custom_ops.impl,
        "register_vmap": _registration,
    }
    return {"custom_op": custom_ops.custom_op, "infer_schema": _inferred, "Library": Library, **registrations}
