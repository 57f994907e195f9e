"""PyTorch's files: pyburn.save and pyburn.load."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _core
from .._core import Tensor
from .file_types import Path, Readable, Target, writable

if TYPE_CHECKING:
    from .._types import DeviceLike

# A device for all; devices by the names of places; or a function of a storage and the name of its place.
MapLocation: TypeAlias = "DeviceLike | Mapping[str, DeviceLike] | Callable[[Tensor, str], Tensor | None] | None"

_CODE = (
    "a pickle can run any code when it is opened, so pyburn reads tensors, numbers, text and containers of them by itself and runs nothing"
)


def save(obj: Any, f: Target, pickle_module: Any = None, pickle_protocol: int = 2, _use_new_zipfile_serialization: bool = True) -> None:
    """Writes tensors, numbers, text, and dicts, lists, tuples and sets of them to a file that `torch.load` opens as well.

    `f` is a path or an object with a method `write`. Tensors that share memory share it again after loading. A path is replaced
    when the new file is complete.

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
    """What a file of `pyburn.save` or `torch.save` contains. Reading runs no code; what would need some raises FormatError.

    `f` is a path or an object with a method `read`. Tensors go to the default device, wherever they were saved from, unless
    `map_location` says otherwise: a device for all; a dict from the names of places ("cuda:0") to devices; or a function of a storage
    (as a tensor of one axis) and the name of its place that gives the storage, on any device, or None. With `mmap`, tensors on
    the CPU lie in the file itself, are read when touched, and what is written to them stays in this process.

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
