"""The public file classes implemented in C++: snapshots (tensors that are not read yet), reports, adapters."""

from .._core._io import CoreAdapter, LoadReport, Place, Snapshot, atomic_write

__all__ = ["CoreAdapter", "LoadReport", "Place", "Snapshot", "atomic_write"]
