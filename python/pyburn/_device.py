"""Devices, which store tensors and run their operations."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

from . import _core
from ._core import Device, DeviceError

if TYPE_CHECKING:
    from ._types import DeviceLike

# A class: pyburn.device("cpu") is a Device, and `with pyburn.device("cpu"):` sets the default device in the block.
device = Device


class _OfMemberAndKind:
    """A property of members (`member.available` is a bool) and a method of the class (`BackendKind.available()` lists usable names)."""

    def __init__(self, of_member: Callable[[Any], bool]) -> None:
        self.of_member = of_member

    @overload
    def __get__(self, member: None, kind: type) -> Callable[[], list[str]]: ...
    @overload
    def __get__(self, member: BackendKind, kind: type) -> bool: ...
    def __get__(self, member: BackendKind | None, kind: type) -> Any:
        return _available_names if member is None else self.of_member(member)


class BackendKind(Enum):
    """An enum of devices, accepted wherever a device is. Names are case-insensitive; other backends are given as strings.

    >>> pyburn.ones(2, device=pyburn.BackendKind.NDARRAY)
    tensor([1., 1.])
    >>> pyburn.BackendKind("NdArray").available
    True
    """

    WGPUDEVICE = "wgpu"
    FUSIONJITBACKEND = "fusion(best)"  # fusion on the best available device
    PYTORCH = "torch"
    NDARRAY = "ndarray"
    NUMPY = "numpy"

    @_OfMemberAndKind
    def available(self) -> bool:
        """Whether this device can be used here."""
        try:
            Device(self)
        except DeviceError:
            return False
        return True

    @classmethod
    def names(cls) -> list[str]:
        """Returns the names of all backends that hold data, including those of other packages.

        >>> "ndarray" in pyburn.BackendKind.names()
        True
        """
        return [row.name for row in backends() if not row.decorator and row.name != "meta"]

    @classmethod
    def _missing_(cls, value: object) -> BackendKind | None:
        if not isinstance(value, str):
            return None
        text = value.strip().lower()
        for member in cls:
            if text in (member.value, member.name.lower()):
                return member
        if text.startswith("fusion("):
            return cls.FUSIONJITBACKEND if text in ("fusion(ndarray)", "fusion(cpu)") else None
        row = next((row for row in backends() if text in (row.name, *row.aliases)), None)
        return next((member for member in cls if row is not None and member.value in (row.name, *row.aliases)), None)


def _available_names() -> list[str]:
    """Returns the names of the backends that can be used here and hold data."""
    return [row.name for row in backends() if row.available and not row.decorator and row.name != "meta"]


def get_default_device() -> Device:
    """Returns the default device of new tensors.

    >>> pyburn.get_default_device()
    device('autodiff(ndarray)')
    """
    return _core._default_device()


def set_default_device(device: DeviceLike | None) -> None:
    """Sets the default device of new tensors; None restores the initial one: PYBURN_DEVICE, else the best available device.

    >>> pyburn.set_default_device("cpu")
    """
    _core._set_default_device(device)


def synchronize(device: DeviceLike | None = None) -> None:
    """Waits until all operations on a device have completed; by default on the default device.

    It is only needed to measure time: reading a value waits by itself. The error of a failed operation is raised where its result is
    read, not here.

    Raises:
        DeviceError: The device is lost.

    >>> pyburn.synchronize("fusion(cpu)")
    """
    (get_default_device() if device is None else Device(device)).synchronize()


def check_keeps_data(module: Any, place: Device) -> None:
    """Raises DeviceError if moving a module to the device would lose its weights."""
    if not place.has_values and any(tensor.device.has_values for tensor in (*module.parameters(), *module.buffers())):
        raise DeviceError(
            f"[backend] the weights would be lost: {place.type} holds no data; call to_empty(device={place.type!r}), "
            f"or to({place.type!r}) if that is meant"
        )


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
    """A list of backends that prints as a table."""

    def __repr__(self) -> str:
        def name(b: BackendInfo) -> str:
            return f"{b.name}(...)" if b.decorator else b.name

        def remark(b: BackendInfo) -> str:
            return b.doc if b.available else f"{b.doc} Not here: {b.reason}."

        rows = [("name", "aliases", "available", "")]
        rows += [(name(b), ", ".join(b.aliases), "yes" if b.available else "no", remark(b)) for b in self]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), row[3]]).rstrip() for row in rows)


def backends() -> BackendList:
    """Lists the backends and decorators, and why some of them cannot be used here.

    >>> [b.name for b in pyburn.backends() if "cpu" in b.aliases]
    ['ndarray']
    """
    from .backend import discover

    discover()
    return BackendList(BackendInfo(row) for row in _core._backends())
