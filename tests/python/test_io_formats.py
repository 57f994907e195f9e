"""Files of tensors: what every format holds, and how formats are told apart."""

from __future__ import annotations

import doctest
import importlib
import io
import sys
from pathlib import Path

import pytest

import pyburn
from pyburn.io import open_tensors, write_tensors

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tensor_files import FOLDER, every_dtype, same


@pytest.mark.parametrize(
    "name", ["io.safetensors", "io.checkpoint", "io.numpy_files", "io.tensor_file", "io.bundle", "io.store", "config.config"]
)
def test_examples_are_right(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(f"pyburn.{name}"), extraglobs={"pyburn": pyburn})
    assert result.attempted > 0 and result.failed == 0


# --- any format ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("ending", ["safetensors", "pt", "npz", "pyburn"])
def test_every_format_holds_every_dtype(ending: str, mmap: bool, tmp_path: Path) -> None:
    tensors = every_dtype()
    path = tmp_path / f"all.{ending}"
    write_tensors(tensors, path)
    file = open_tensors(path, mmap=mmap)
    assert file.format == {"pt": "pytorch"}.get(ending, ending) and set(file) == set(tensors) and len(file) == len(tensors)
    for name, t in tensors.items():
        assert file[name].shape == t.shape and file[name].dtype == t.dtype and same(file[name].load(), t), name
        assert file[name].load("numpy").device == "numpy"
    assert set(open_tensors(path.read_bytes())) == set(tensors) == set(open_tensors(io.BytesIO(path.read_bytes())))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    if mmap:  # writes stay in this process
        loaded = file["float32"].load()
        loaded.fill_(9.0)
        assert open_tensors(path)["float32"].load()[0, 0] == 0 and file["float32"].load()[0, 0] == 9


@pytest.mark.parametrize("first", ["safetensors", "pt", "npz", "pyburn"])
@pytest.mark.parametrize("second", ["safetensors", "pt", "npz", "pyburn"])
def test_files_pass_from_format_to_format(first: str, second: str, tmp_path: Path) -> None:
    write_tensors(every_dtype(), tmp_path / f"a.{first}")
    write_tensors(open_tensors(tmp_path / f"a.{first}"), tmp_path / f"b.{second}")
    back = open_tensors(tmp_path / f"b.{second}")
    assert all(same(back[name].load(), t) for name, t in every_dtype().items())


def test_formats_that_do_not_fit(tmp_path: Path) -> None:
    x = {"x": pyburn.ones(2)}
    with pytest.raises(ValueError, match=r"unknown format: got 'x\.bmp', expected one of safetensors, pytorch, npz, npy, pyburn"):
        write_tensors(x, tmp_path / "x.bmp")
    write_tensors(x, tmp_path / "x.bmp", format="npz")
    assert open_tensors(tmp_path / "x.bmp").format == "npz"
    with pytest.raises(ValueError, match="does not support metadata"):
        write_tensors(x, tmp_path / "x.npz", metadata={"a": "b"})
    with pytest.raises(ValueError, match="stores exactly one tensor"):
        write_tensors({**x, "y": pyburn.ones(1)}, tmp_path / "x.npy")
    with pytest.raises(TypeError, match="expected a Tensor under 'x': got int"):
        write_tensors({"x": 3}, tmp_path / "x.npz")  # type: ignore[dict-item]
    with pytest.raises(pyburn.FormatError):
        open_tensors(b"something that is no file of tensors")
    with pytest.raises(FileNotFoundError):
        open_tensors(tmp_path / "nothing")
    assert repr(open_tensors(tmp_path / "x.bmp")) == "TensorFile('npz', 1 tensors)\n  x: pyburn.float32 (2,)"
    assert repr(open_tensors(tmp_path / "x.bmp")["x"]) == "Snapshot('x', (2,), float32)"


# --- safetensors --------------------------------------------------------------------------------------------------


def test_formats_are_detected_by_content() -> None:
    with pytest.raises(pyburn.FormatError, match="object arrays are pickles"):
        pyburn.io.load_npy(FOLDER / "objects.npy")
    with pytest.raises(pyburn.FormatError, match="unsupported dtype: got '<c16'"):
        pyburn.io.load_npy(FOLDER / "complex.npy")
    with pytest.raises(pyburn.FormatError, match="another format: got npz"):
        pyburn.io.load_npy(FOLDER / "arrays.npz")
    with pytest.raises(pyburn.FormatError, match="another format: got npy"):
        pyburn.io.load_npz(FOLDER / "fortran.npy")
