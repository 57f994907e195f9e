"""Devices: where tensors live and what runs their operations."""

from __future__ import annotations

import importlib
import sys
from enum import Enum
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Device

if TYPE_CHECKING:
    from ._types import DeviceLike

# The class: pyburn.device("cpu") is a Device, and `with pyburn.device("cpu"):` makes it the default of the block.
device = Device


class BackendKind(Enum):
    """Devices by kind; a member is accepted wherever a device is.

    >>> pyburn.ones(2, device=pyburn.BackendKind.NDARRAY)
    tensor([1., 1.])
    """

    WGPUDEVICE = "wgpu"
    FUSIONJITBACKEND = "fusion(ndarray)"  # fusion over the best real device
    PYTORCH = "torch"
    NDARRAY = "ndarray"


def get_default_device() -> Device:
    """The device of tensors that are made without one.

    >>> pyburn.get_default_device()
    device('autodiff(ndarray)')
    """
    return _core._default_device()


def set_default_device(device: DeviceLike | None) -> None:
    """Sets the device of tensors that are made without one; None gives the best one of this machine.

    >>> pyburn.set_default_device("cpu")
    """
    _core._set_default_device("ndarray" if device is None else device)


class BackendInfo:
    """A row of pyburn.backends()."""

    __slots__ = ("aliases", "available", "decorator", "doc", "name", "reason")

    def __init__(self, row: dict[str, Any]):
        self.name: str = row["name"]
        self.aliases: tuple[str, ...] = tuple(row["aliases"])
        self.decorator: bool = row["decorator"]
        self.doc: str = row["doc"]
        self.reason: str = row["unavailable"]  # why it cannot be used here
        self.available: bool = not self.reason

    def __repr__(self) -> str:
        state = "available" if self.available else f"not available: {self.reason}"
        return f"<backend {self.name}: {state}>"


class BackendList(list[BackendInfo]):
    """Backends as a list that prints as a table."""

    def __repr__(self) -> str:
        def name(b: BackendInfo) -> str:
            return f"{b.name}(...)" if b.decorator else b.name

        def remark(b: BackendInfo) -> str:
            return b.doc if b.available else f"{b.doc} Not here: {b.reason}."

        rows = [("name", "aliases", "available", "")]
        rows += [(name(b), ", ".join(b.aliases), "yes" if b.available else "no", remark(b)) for b in self]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), row[3]]).rstrip() for row in rows)


class Backends:
    """`pyburn.backends()` lists the backends and decorators that can be named, and why some of them cannot be used here.

    `pyburn.backends.cudnn` and the like are what programs for PyTorch ask of torch.backends: they answer that nothing is there.

    >>> [b.name for b in pyburn.backends() if "cpu" in b.aliases]
    ['ndarray']
    """

    __name__ = "backends"
    __path__: tuple[str, ...] = ()  # what is below it can be imported
    __spec__ = None

    def __call__(self) -> BackendList:
        from .backend import discover

        discover()
        return BackendList(BackendInfo(row) for row in _core._backends())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return importlib.import_module(f"pyburn.backends.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"pyburn.backends has no attribute {name!r}") from None


backends = Backends()
sys.modules["pyburn.backends"] = backends  # type: ignore[assignment]
