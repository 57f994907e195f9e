"""Feature hashing layers with platform-independent hashes: Hashing and HashedCrossing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import pyburn
from pyburn import Tensor

from .arguments import ARGUMENTS
from .declared import DeclaredLayer
from .fingerprints import farm, joined, sip
from .lookup import MODES, check_mode, encoded

_CROSSING = 0xDECAFCAFFE  # TensorFlow's initial value for crossings


class _Bins(DeclaredLayer):
    """Base class: returns bin indices, or encoded vectors of them.

    Args:
        num_bins: The number of bins.
    """

    checks = {"num_bins": ARGUMENTS["units"].check}
    num_bins: int
    output_mode: str = "int"
    sparse: bool = False

    def prepare(self) -> None:
        check_mode(self, MODES[:-1])

    def _binned(self, shape: Any, bins: Any, device: Any) -> Tensor:
        indices = pyburn.tensor(bins, dtype=pyburn.int64).reshape(list(shape)) if device is None else _nothing(shape, device)
        return indices if self.output_mode == "int" else encoded(indices, self.output_mode, self.num_bins)


def _nothing(shape: Any, device: Any) -> Tensor:
    return pyburn.zeros(list(shape), dtype=pyburn.int64, device=device)


def _items(inputs: Any) -> tuple[Any, Any]:
    """Converts the input to an array to hash, and returns the device `null` if only shapes are computed."""
    if isinstance(inputs, Tensor) and inputs.device.type == "meta":
        return inputs, inputs.device
    array = inputs.detach().to("cpu").numpy() if isinstance(inputs, Tensor) else numpy.asarray(inputs)
    if array.dtype.kind == "f":
        raise TypeError("[hash] expected integers or strings, got floats: convert them, or use Discretization")
    return array, None


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


class Hashing(_Bins):
    """Hashes strings and integers into `num_bins` bins; the bins are the same as TensorFlow's.

    Args:
        mask_value: This value gets bin 0 and all others get bins from 1.
        salt: A key, one integer or two: uses SipHash instead of FarmHash.

    Raises:
        ValueError: An argument has an unknown value.

    >>> p_vision.Hashing(num_bins=3)([["A"], ["B"], ["C"], ["D"], ["E"]]).flatten().tolist()
    [1, 0, 1, 1, 2]
    """

    first = ("num_bins", "mask_value", "salt")
    mask_value: Any = None
    salt: Any = None

    def prepare(self) -> None:
        super().prepare()
        salt = self.salt
        if self.mask_value is not None and self.num_bins < 2:
            raise ValueError(f"[Hashing] a mask_value has bin 0: num_bins must be at least 2, got {self.num_bins}")
        key = (salt, salt) if isinstance(salt, int) else tuple(salt or ())
        if salt is not None and (len(key) != 2 or not all(isinstance(part, int) and 0 <= part < 1 << 64 for part in key)):
            raise ValueError(f"[Hashing] salt is a number or two, from 0 to 2**64 - 1: got {salt!r}")
        self._hash: Callable[[bytes], int] = farm if salt is None else lambda data: sip(data, key)  # type: ignore[arg-type]

    def _bin(self, value: Any) -> int:
        if self.mask_value is None:
            return self._hash(_bytes(value)) % self.num_bins
        return 0 if _bytes(value) == _bytes(self.mask_value) else 1 + self._hash(_bytes(value)) % (self.num_bins - 1)

    def forward(self, inputs: Any) -> Tensor:
        array, device = _items(inputs)
        return self._binned(array.shape, [] if device is not None else [self._bin(value) for value in array.ravel().tolist()], device)


class HashedCrossing(_Bins):
    """Crosses two or more features: hashes each combination of their values into a bin; the bins are the same as TensorFlow's.

    >>> p_vision.HashedCrossing(num_bins=5)((["A", "B", "A", "B", "A"], [101, 101, 101, 102, 102])).tolist()
    [1, 4, 1, 1, 3]
    """

    def forward(self, inputs: Any) -> Tensor:
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError("[HashedCrossing] expected a list of at least two features")
        given = [_items(feature) for feature in inputs]
        arrays, device = [array for array, _ in given], next((device for _, device in given if device is not None), None)
        if len({tuple(array.shape) for array in arrays}) != 1:
            raise pyburn.ShapeError(f"[HashedCrossing] features have one shape: got {', '.join(str(tuple(a.shape)) for a in arrays)}")
        rows = [] if device is not None else zip(*(array.ravel().tolist() for array in arrays))
        return self._binned(arrays[0].shape, [self._crossed(row) % self.num_bins for row in rows], device)

    @staticmethod
    def _crossed(values: tuple[Any, ...]) -> int:
        found = _CROSSING
        for value in values:  # integers are used directly, strings by their fingerprints
            found = joined(found, value & ((1 << 64) - 1) if isinstance(value, int) else farm(_bytes(value)))
        return found
