"""Arrays of numpy: what it writes, what it reads, damaged ones."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import pyburn

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tensor_files import EXPECTED, FOLDER, every_dtype, npy, same


def test_arrays_of_numpy() -> None:
    for source in (FOLDER / "arrays.npz", (FOLDER / "arrays.npz").open("rb")):
        loaded = pyburn.io.load_npz(source)
        assert loaded.keys() == EXPECTED["arrays"].keys()
        for name, (dtype, shape, values) in EXPECTED["arrays"].items():
            assert loaded[name].dtype.name == dtype and list(loaded[name].shape) == shape, name
            assert loaded[name].to(pyburn.float64).flatten().tolist() == values, name
    assert pyburn.io.load_npz(FOLDER / "arrays.npz", mmap=True)["fortran"].stride() == (1, 2)
    with np.load(FOLDER / "compressed.npz") as arrays:
        for name, t in pyburn.io.load_npz(FOLDER / "compressed.npz").items():
            assert np.array_equal(arrays[name], t.numpy()), name
    for version in (1, 2, 3):
        assert pyburn.io.load_npy(FOLDER / f"version{version}.npy").tolist() == [0, 1, 2, 3]
    assert pyburn.io.load_npy(FOLDER / "fortran.npy", mmap=True).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_numpy_reads_what_we_write(tmp_path: Path) -> None:
    for name, t in every_dtype().items():
        pyburn.io.save_npy(tmp_path / "x.npy", t)
        array = np.load(tmp_path / "x.npy", allow_pickle=False)
        if name == "bfloat16":  # numpy has no such dtype
            assert array.dtype == np.dtype("V2") and array.shape == (2, 3)
        else:
            assert array.dtype.name == t.dtype.name and np.array_equal(array, t.numpy()), name
        assert same(pyburn.io.load_npy(tmp_path / "x.npy"), t)
        assert (tmp_path / "x.npy").stat().st_size % 64 == t.numel() * t.dtype.itemsize % 64
    memory = io.BytesIO()
    pyburn.io.save_npz(memory, a=pyburn.ones(2), b=pyburn.arange(3))
    memory.seek(0)
    with np.load(memory) as arrays:
        assert arrays["a"].tolist() == [1, 1] and arrays["b"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x93NUMPY", "ends too early"),
        (npy("{", version=b"\4\0"), "version"),
        (npy(""), "expected '{'"),
        (npy("{'descr': '<f4', 'fortran_order': False, }"), "incomplete"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", b"0000"), "incomplete or has trailing"),
        (npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"), "unknown field"),
        (npy("{'other': 1}"), "unknown field"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), "object arrays are pickles"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), "structured arrays"),
        (npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", b"0" * 8), "unsupported dtype: got '<c8'"),
        (npy("{'descr': '', 'fortran_order': False, 'shape': (1,), }"), "unsupported dtype"),
        (npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }"), "True or False"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), "expected a size"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }"), "expected ','"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "too large"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }"), "too large"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"0000"), "wrong size: got 4 bytes"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"0" * 9), "wrong size: got 9 bytes"),
        (npy("{'descr': '<f4"), "not terminated"),
    ],
)
def test_damaged_arrays(data: bytes, reason: str) -> None:
    with pytest.raises(pyburn.FormatError, match=reason):
        pyburn.io.load_npy(io.BytesIO(data))
