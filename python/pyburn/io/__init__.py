"""File formats: safetensors, PyTorch, NumPy and .pyburn, and loading and saving of models."""

from . import safetensors
from .bundle import Bundle
from .checkpoint import load, save
from .native import LoadReport, Place, Snapshot, atomic_write
from .numpy_files import load_npy, load_npz, save_npy, save_npz
from .store import Adapter, Store, burn_layout, half_precision, load_into, save_module
from .tensor_file import TensorFile, open_tensors, write_tensors

__all__ = [
    "Adapter",
    "Bundle",
    "burn_layout",
    "half_precision",
    "LoadReport",
    "Place",
    "Snapshot",
    "Store",
    "TensorFile",
    "atomic_write",
    "load",
    "load_into",
    "load_npy",
    "load_npz",
    "open_tensors",
    "safetensors",
    "save",
    "save_module",
    "save_npy",
    "save_npz",
    "write_tensors",
]
