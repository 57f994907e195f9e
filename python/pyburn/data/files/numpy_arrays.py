"""NumPy files as a data set: item i is row i of every array."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..._core import Tensor
from ...io import load_npy, load_npz
from ..dataset import Dataset
from .source import FormatError


class NumpyDataset(Dataset[Any]):
    """The rows of .npy files, or of the arrays of one .npz file.

    Items are tensors for one .npy file, tuples of tensors for several, and dicts for an .npz file, or tuples if `names` is given.

    Args:
        *files: One .npz file, or .npy files.
        names: The arrays of the .npz file to use, in order.
        transform: Applied to each item.
        mmap: Whether to memory-map the files, which may then be larger than memory; they must not be truncated while in use.

    Raises:
        ValueError: No file is given, or an .npz file together with others.
        KeyError: There is no array of that name.
        FormatError: The arrays differ in their number of rows, or a file is damaged.

    >>> import numpy
    >>> numpy.save("x.npy", numpy.eye(3, dtype=numpy.float32))
    >>> pyburn.data.files.NumpyDataset("x.npy")[1]
    tensor([0., 1., 0.])
    """

    def __init__(
        self,
        *files: str | os.PathLike[str],
        names: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        mmap: bool = False,
    ) -> None:
        if not files:
            raise ValueError("[numpy] expected at least one file")
        self.transform = transform
        self._keys: list[str] | None = None
        self._single = False
        if os.fspath(files[0]).endswith(".npz"):
            if len(files) > 1:
                raise ValueError("[numpy] expected one .npz file, or several .npy files")
            found = load_npz(files[0], mmap=mmap)
            for name in names or ():
                if name not in found:
                    raise KeyError(f"[numpy] no array {name!r}: there are {', '.join(map(repr, found))}")
            self._keys = None if names is not None else list(found)
            self._arrays: list[Tensor] = [found[name] for name in (names if names is not None else found)]
        else:
            self._arrays = [load_npy(file, mmap=mmap) for file in files]
            self._single = len(files) == 1
        counts = {array.shape[0] if array.ndim else -1 for array in self._arrays}
        if len(counts) != 1 or -1 in counts:
            raise FormatError(f"[numpy] the arrays differ in their number of rows: {[tuple(array.shape) for array in self._arrays]}")

    def __len__(self) -> int:
        return self._arrays[0].shape[0]

    def __getitem__(self, index: int) -> Any:
        at = range(len(self))[index]
        rows = [array[at] for array in self._arrays]
        item: Any = rows[0] if self._single else dict(zip(self._keys, rows)) if self._keys is not None else tuple(rows)
        return item if self.transform is None else self.transform(item)
