"""Safetensors files from Python: round trips, metadata, errors."""

import json
import struct

import pytest

import pyburn
from pyburn import nn
from pyburn.io import atomic_write, safetensors


def test_round_trip(tmp_path):
    names = ["float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
    tensors = {name: pyburn.arange(6).cast(getattr(pyburn, name)).view(2, 3) for name in names}
    tensors |= {"0-d": pyburn.full((), 2.5), "empty": pyburn.zeros(0, 2), "transposed": pyburn.randn(3, 2).T, "naïve": pyburn.ones(1)}
    path = tmp_path / "all.safetensors"
    safetensors.save_file(tensors, path, metadata={"format": "pt"})
    back = safetensors.load_file(path)
    assert back.keys() == tensors.keys() and safetensors.load_metadata(str(path)) == {"format": "pt"}
    for name, t in tensors.items():
        assert back[name].shape == t.shape and back[name].dtype == t.dtype and back[name].ne(t).sum().item() == 0
    assert safetensors.load(path.read_bytes()).keys() == tensors.keys()
    assert [p.name for p in tmp_path.iterdir()] == ["all.safetensors"]


def test_the_file_is_what_others_read(tmp_path):
    path = tmp_path / "one.safetensors"
    safetensors.save_file({"b": pyburn.ones(3, dtype=pyburn.uint8), "a": pyburn.full((2,), 1.5)}, path)
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    assert size % 8 == 0
    assert json.loads(data[8 : 8 + size]) == {
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
        "b": {"dtype": "U8", "shape": [3], "data_offsets": [8, 11]},
    }
    assert data[8 + size :] == struct.pack("<ff", 1.5, 1.5) + b"\1\1\1"


def test_models(tmp_path):
    a, b = (nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)) for _ in range(2))
    safetensors.save_file(a.state_dict(), tmp_path / "model.safetensors")
    b.load_state_dict(safetensors.load_file(tmp_path / "model.safetensors"))
    x = pyburn.randn(2, 1, 5, 5)
    assert a.eval()(x).ne(b.eval()(x)).sum().item() == 0


def test_mistakes(tmp_path):
    with pytest.raises(FileNotFoundError):
        safetensors.load_file(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        safetensors.load_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        safetensors.save_file({}, tmp_path / "no" / "such")
    with pytest.raises((TypeError, RuntimeError)):
        safetensors.save_file({"a": 3}, tmp_path / "x")
    with pytest.raises(ValueError, match="too short") as error:
        safetensors.load(b"")
    assert isinstance(error.value, pyburn.FormatError)
    with pytest.raises(pyburn.FormatError, match="outside the file"):
        safetensors.load(struct.pack("<Q", 54) + b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}')


def test_atomic_write(tmp_path):
    path = tmp_path / "file"
    atomic_write(path, b"old")
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new" and len(list(tmp_path.iterdir())) == 1
