"""PyTorch's file format: pyburn.save and pyburn.load."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from .._core import Tensor
from .file_types import Path, Readable, Target, writable

if TYPE_CHECKING:
    from .._types import DeviceLike

# A device for all tensors; a dict of devices by saved location; or a function of a storage and its saved location.
MapLocation: TypeAlias = "DeviceLike | Mapping[str, DeviceLike] | Callable[[Tensor, str], Tensor | None] | None"

_CODE = "a pickle can execute any code when it is loaded, so pyburn reads only tensors, numbers, strings and containers"


def save(obj: Any, f: Target, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True) -> None:
    """Saves tensors, numbers, text, and dicts, lists, tuples and sets of them, in a format that `torch.load` can read.

    Tensors that share memory share it again after loading. Existing files are replaced atomically.

    Args:
        obj: The object.
        f: A path or an object with a method `write`.
        pickle_module: Not supported.
        pickle_protocol: Must be 2.

    Raises:
        ValueError: An option is not supported.

    >>> import io
    >>> file = io.BytesIO()
    >>> pyburn.save({"weight": pyburn.ones(2), "epoch": 3}, file)
    >>> pyburn.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module is not None:
        raise ValueError(f"[save] pickle_module is not supported: {_CODE}")
    if pickle_protocol != 2:
        raise ValueError(f"[save] files are written in pickle protocol 2: got {pickle_protocol}")
    if not _use_new_zipfile_serialization:
        raise ValueError("[save] files are written in the zip format; the one before it can be read only")
    _core._io.save_checkpoint(obj, writable(f))


def load(
    f: Path | Readable,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool = True,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Loads a file of `pyburn.save` or `torch.save`. No code of the file is executed.

    Args:
        f: A path or an object with a method `read`.
        map_location: Where to put tensors; by default on the default device. A device; a dict from saved locations ("cuda:0") to devices;
            or a function that is called with a storage (as a 1-d tensor) and its saved location, and returns the storage on any device, or
            None.
        pickle_module: Not supported.
        weights_only: Must be True.
        mmap: Whether to memory-map the file: CPU tensors are read on access, and changes to them stay in this process.

    Raises:
        FormatError: The file is damaged, or would have to execute code.
        ValueError: An option is not supported, or mmap is used without a path.
        TypeError: There are unknown arguments.

    >>> import io
    >>> file = io.BytesIO()
    >>> pyburn.save([pyburn.zeros(1), "text"], file)
    >>> pyburn.load(io.BytesIO(file.getvalue()), map_location="cpu")
    [tensor([0.]), 'text']
    """
    if pickle_module is not None or not weights_only:
        argument = "pickle_module" if pickle_module is not None else "weights_only=False"
        raise ValueError(f"[load] {argument} is not supported: {_CODE}")
    if pickle_load_args:
        raise TypeError(f"[load] unknown arguments: got {', '.join(pickle_load_args)}")
    place = _place(map_location)
    if not isinstance(f, (str, os.PathLike)):
        if mmap:
            raise ValueError("[load] f must be a file path in order to use the mmap argument")
        return _core._io.load_checkpoint(bytes(f.read()), place, False)
    return _core._io.load_checkpoint(os.fspath(f), place, bool(mmap))


def _place(map_location: MapLocation) -> Callable[[Tensor, str], Tensor | None] | None:
    if map_location is None or (callable(map_location) and not isinstance(map_location, _core.Device)):
        return map_location
    if isinstance(map_location, Mapping):
        table = {str(key): value for key, value in map_location.items()}
        return lambda storage, location: storage.to(device=table[location]) if location in table else None
    return lambda storage, location: storage.to(device=map_location)
