"""Files of safetensors: the other library's, shards, mapped tensors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import pyburn
from pyburn.io import open_tensors, safetensors

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tensor_files import FOLDER, same


def test_safetensors_of_the_other_library() -> None:
    loaded = safetensors.load_file(FOLDER / "other.safetensors", mmap=True)
    assert loaded["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and loaded["b"].tolist() == [True, False] and loaded["h"].dtype is pyburn.bfloat16
    assert safetensors.load_metadata(FOLDER / "other.safetensors") == {"format": "pt"}


def test_safe_open(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"a": pyburn.arange(12.0).view(3, 4), "b": pyburn.ones(2, dtype=pyburn.bfloat16)}, path, metadata={"k": "v"})
    for framework in ("pt", "pyburn"):
        with safetensors.safe_open(path, framework=framework, device="cpu") as file:
            assert sorted(file.keys()) == ["a", "b"] and file.metadata() == {"k": "v"}
            assert file.get_tensor("a")[2, 3] == 11
            part = file.get_slice("a")
            assert part.get_shape() == [3, 4] and part.get_dtype() == "F32" and file.get_slice("b").get_dtype() == "BF16"
            assert part[1:, :2].tolist() == [[4, 5], [8, 9]]
            with pytest.raises(KeyError):
                file.get_tensor("c")
    with pytest.raises(ValueError, match="framework"):
        safetensors.safe_open(path, framework="tf")


def test_sharded_safetensors(tmp_path: Path) -> None:
    tensors = {f"layer.{i}": pyburn.full((10,), float(i)) for i in range(7)}
    index = tmp_path / "model.safetensors.index.json"
    safetensors.save_sharded(tensors, index, max_shard_size=100, metadata={"by": "test"})
    written = json.loads(index.read_text())
    assert written["metadata"] == {"by": "test", "total_size": 280}
    assert sorted(set(written["weight_map"].values())) == [f"model-0000{i}-of-00004.safetensors" for i in range(1, 5)]
    loaded = safetensors.load_file(index)
    assert loaded.keys() == tensors.keys() and all(same(loaded[k], v) for k, v in tensors.items())
    assert set(open_tensors(index, mmap=True)) == set(tensors)
    for change, reason in (
        ({"layer.0": "../model.safetensors"}, "files beside it: got '../model"),
        ({"layer.0": ".."}, "files beside it"),
        ({"layer.0": 3}, "must name a file"),
        ({"nothing": "model-00001-of-00004.safetensors"}, "which has no such tensor"),
    ):
        index.write_text(json.dumps({"weight_map": change}))
        with pytest.raises(pyburn.FormatError, match=reason):
            safetensors.load_file(index)
    for text, reason in (("[]", "no weight_map"), ("{", "not valid JSON"), ('{"weight_map":' + "[" * 50 + "]" * 50 + "}", "too deeply")):
        index.write_text(text)
        with pytest.raises(pyburn.FormatError, match=reason):
            safetensors.load_file(index)
    index.write_text(json.dumps({"weight_map": {"a": "absent.safetensors"}}))
    with pytest.raises(FileNotFoundError):
        safetensors.load_file(index)


def test_mapped_tensors_outlive_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": pyburn.arange(4.0)}, path)
    x = safetensors.load_file(path, mmap=True)["x"]
    safetensors.save_file({"x": pyburn.zeros(4)}, path)
    assert x.tolist() == [0, 1, 2, 3]
    path.unlink()
    x += 1
    assert x.tolist() == [1, 2, 3, 4]


# --- numpy --------------------------------------------------------------------------------------------------------
