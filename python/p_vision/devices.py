"""Resolves backend names to devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyburn

if TYPE_CHECKING:
    from pyburn._types import DeviceLike


def resolve(backend: DeviceLike | None) -> pyburn.Device:
    """Returns the device for a name (case-insensitive), an enum member or a device; None is the default device.

    Raises:
        DeviceError: The device is unknown; the message lists the available ones.
    """
    if backend is None:
        return pyburn.get_default_device()
    try:
        return pyburn.Device(backend)
    except pyburn.DeviceError as error:
        raise pyburn.DeviceError(f"{error}; available here: {', '.join(pyburn.BackendKind.available())}") from None
