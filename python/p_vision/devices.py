"""The device that a user's word for a backend means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyburn

if TYPE_CHECKING:
    from pyburn._types import DeviceLike


def resolve(backend: DeviceLike | None) -> pyburn.Device:
    """The device of a name in any case, a member of the enumeration or a device; the default one for None."""
    if backend is None:
        return pyburn.get_default_device()
    try:
        return pyburn.Device(backend)
    except pyburn.DeviceError as error:
        raise pyburn.DeviceError(f"{error}; available here: {', '.join(pyburn.BackendKind.available())}") from None
