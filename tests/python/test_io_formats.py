"""Files of numpy, safetensors and pyburn, the store, and models in any of them."""

from __future__ import annotations

import doctest
import importlib
import io
import json
import struct
import sys
import zipfile
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.io import Bundle, Store, burn_layout, half_precision, load_into, open_tensors, safetensors, save_module, write_tensors

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "io"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())["expected"]
DTYPES = ["float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


def every_dtype() -> dict[str, pyburn.Tensor]:
    tensors = {name: pyburn.arange(6).cast(getattr(pyburn, name)).view(2, 3) for name in DTYPES}
    return tensors | {"scalar": pyburn.full((), 2.5), "empty": pyburn.zeros(0, 3), "transposed": pyburn.arange(6.0).view(2, 3).T}


def same(a: pyburn.Tensor, b: pyburn.Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.ne(b).sum().item() == 0


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
    with pytest.raises(ValueError, match=r"format is not known: got 'x\.bmp'; there are safetensors, pytorch, npz, npy, pyburn"):
        write_tensors(x, tmp_path / "x.bmp")
    write_tensors(x, tmp_path / "x.bmp", format="npz")
    assert open_tensors(tmp_path / "x.bmp").format == "npz"
    with pytest.raises(ValueError, match="no place for metadata"):
        write_tensors(x, tmp_path / "x.npz", metadata={"a": "b"})
    with pytest.raises(ValueError, match="holds one tensor"):
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
        ({"nothing": "model-00001-of-00004.safetensors"}, "which does not have it"),
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


def npy(header: str, data: bytes = b"", version: bytes = b"\1\0") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header.encode("latin1") + data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x93NUMPY", "ends too early"),
        (npy("{", version=b"\4\0"), "version"),
        (npy(""), "expected '{'"),
        (npy("{'descr': '<f4', 'fortran_order': False, }"), "incomplete"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", b"0000"), "incomplete or followed"),
        (npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"), "does not belong"),
        (npy("{'other': 1}"), "does not belong"),
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), "objects are pickles"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), "records"),
        (npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", b"0" * 8), "not supported: got '<c8'"),
        (npy("{'descr': '', 'fortran_order': False, 'shape': (1,), }"), "not supported"),
        (npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }"), "True or False"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), "expected an extent"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }"), "expected ','"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "too large"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }"), "too large"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"0000"), "does not fit the shape: got 4 bytes"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"0" * 9), "does not fit the shape"),
        (npy("{'descr': '<f4"), "does not end"),
    ],
)
def test_damaged_arrays(data: bytes, reason: str) -> None:
    with pytest.raises(pyburn.FormatError, match=reason):
        pyburn.io.load_npy(io.BytesIO(data))


def test_other_files_are_told_apart() -> None:
    with pytest.raises(pyburn.FormatError, match="objects are pickles"):
        pyburn.io.load_npy(FOLDER / "objects.npy")
    with pytest.raises(pyburn.FormatError, match="not supported: got '<c16'"):
        pyburn.io.load_npy(FOLDER / "complex.npy")
    with pytest.raises(pyburn.FormatError, match="another format: got npz"):
        pyburn.io.load_npy(FOLDER / "arrays.npz")
    with pytest.raises(pyburn.FormatError, match="another format: got npy"):
        pyburn.io.load_npz(FOLDER / "fortran.npy")


@pytest.mark.parametrize("level", range(10))
def test_deflated_data(level: int) -> None:
    """What zlib packs at any level, of any kind of data, comes out again."""
    rng = np.random.default_rng(level)
    arrays = {
        "empty": np.zeros(0, "u1"),
        "one": np.ones(1, "u1"),
        "zeros": np.zeros(70000, "u1"),
        "noise": rng.integers(0, 256, 70000).astype("u1"),
        "few": rng.integers(0, 3, 40000).astype("u1"),
        "far": np.tile(rng.integers(0, 256, 30000).astype("u1"), 3),
        "text": np.frombuffer(Path(__file__).read_bytes(), "u1"),
    }
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as file:
        for name, array in arrays.items():
            one = io.BytesIO()
            np.save(one, array)
            file.writestr(f"{name}.npy", one.getvalue())
    loaded = pyburn.io.load_npz(io.BytesIO(memory.getvalue()))
    assert all(np.array_equal(loaded[name].numpy(), array) for name, array in arrays.items())


def test_a_zip_that_promises_too_much() -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }", b"123456789"))
    data = bytearray(memory.getvalue())
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<I", 1 << 30)
    with pytest.raises(pyburn.FormatError, match="too short for its size"):
        pyburn.io.load_npz(io.BytesIO(data))
    assert zlib.crc32(b"") == 0


def zip_of(entries: list[tuple[str, bytes]], *, in64: bool = False, flags: int = 0, method: int = 0, comment: bytes = b"") -> bytes:
    """By hand, so that every number can be wrong; `in64` puts sizes and offsets where those over 4 GB go."""
    data, directory = b"", b""
    for name, content in entries:
        offset, size, crc = len(data), len(content), zlib.crc32(content)
        encoded, short = name.encode(), 0xFFFFFFFF if in64 else size
        data += struct.pack("<IHHHIIIIHH", 0x04034B50, 20, flags, method, 0, crc, short, short, len(encoded), 0) + encoded + content
        extra = struct.pack("<HHQQQ", 1, 24, size, size, offset) if in64 else b""
        where = 0xFFFFFFFF if in64 else offset
        directory += struct.pack(
            "<IHHHHIIIIHHHHHII", 0x02014B50, 45, 45, flags, method, 0, crc, short, short, len(encoded), len(extra), 0, 0, 0, 0, where
        )
        directory += encoded + extra
    end = b""
    if in64:
        end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, len(entries), len(entries), len(directory), len(data))
        end += struct.pack("<IIQI", 0x07064B50, 0, len(data) + len(directory), 1)
        return (
            data
            + directory
            + end
            + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, len(comment))
            + comment
        )
    return (
        data
        + directory
        + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(entries), len(entries), len(directory), len(data), len(comment))
        + comment
    )


ONE = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", b"abc")


def test_zip_files() -> None:
    for data in (zip_of([("x.npy", ONE)]), zip_of([("x.npy", ONE)], in64=True), zip_of([("x.npy", ONE)], comment=b"PK\5\6 and more")):
        assert pyburn.io.load_npz(io.BytesIO(data))["x"].tolist() == [97, 98, 99]
    memory = io.BytesIO()
    pyburn.io.save_npz(memory, **{f"x{i}": pyburn.tensor([i % 100], dtype=pyburn.uint8) for i in range(66000)})
    with zipfile.ZipFile(memory) as file:  # more entries than the plain format can count
        assert len(file.namelist()) == 66000 and file.read("x65999.npy")[-1] == 99
    assert len(open_tensors(memory.getvalue())) == 66000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (zip_of([("x.npy", ONE), ("x.npy", ONE)]), "one name"),
        (zip_of([("x.npy", ONE)], flags=1), "encrypted"),
        (zip_of([("x.npy", ONE)], method=12), "method 12"),
        (zip_of([("x.npy", ONE)], method=8), "damaged"),
        (zip_of([("x.npy", ONE)]).replace(b"PK\1\2", b"PK\1\3"), "directory is damaged"),
        (zip_of([("x.npy", ONE)], in64=True).replace(b"PK\6\7", b"PK\6\0"), "directory is damaged"),
        (zip_of([("x.npy", ONE)], in64=True).replace(b"PK\6\6", b"PK\6\0"), "directory is damaged"),
        (zip_of([("x.npy", ONE)])[:-4] + b"\xff\xff\xff\0\0\0", "cut|outside"),
        (b"PK\3\4" + b"\0" * 100, "cut"),
        (zip_of([("x.npy", ONE)]).replace(b"x.npy", b"y.npy", 1), "two names"),
        (zip_of([("x.npy", ONE)]).replace(b"abc", b"abd"), "checksum"),
        (zip_of([("\xff.npy", ONE)]).replace("\xff".encode(), b"\xff\xff"), "UTF-8"),
    ],
)
def test_damaged_zip_files(data: bytes, reason: str) -> None:
    with pytest.raises(pyburn.FormatError, match=reason):
        pyburn.io.load_npz(io.BytesIO(data))


# --- bundles ------------------------------------------------------------------------------------------------------


def test_bundles(tmp_path: Path) -> None:
    path = tmp_path / "model.pyburn"
    config = {"hidden": 3, "nested": {"a": [1, 2.5, None, "text"]}}
    Bundle.save(path, every_dtype(), config=config, metadata={"note": "naïve"}, sections={"graph": b"\0\1\2", "empty": b""})
    for mmap in (False, True):
        bundle = Bundle(path, mmap=mmap)
        assert bundle.config == config and bundle.metadata == {"note": "naïve"} and bundle.sections == {"graph": b"\0\1\2", "empty": b""}
        assert all(same(bundle.tensors[name].load(), t) for name, t in every_dtype().items())
    memory = io.BytesIO()
    Bundle.save(memory, {})
    assert Bundle(memory.getvalue()).config is None and not Bundle(memory.getvalue()).tensors

    data = path.read_bytes()
    for cut in (0, 5, 40, len(data) - 1):
        with pytest.raises(pyburn.FormatError, match="cut|not a pyburn file"):
            Bundle(data[:cut])
    with pytest.raises(pyburn.FormatError, match="version"):
        Bundle(data[:8] + b"\2" + data[9:])
    with pytest.raises(pyburn.FormatError, match="table of contents' is damaged"):
        Bundle(data.replace(b'"hidden"', b'"hid en"'))
    at = data.index(struct.pack("<3f", 0, 1, 2))
    damaged = Bundle(data[:at] + b"\1" + data[at + 1 :])
    with pytest.raises(pyburn.FormatError, match="'float32' is damaged"):
        damaged.tensors["float32"].load()
    assert Bundle(data[:at] + b"\1" + data[at + 1 :], verify=False).tensors["float32"].load().shape == (2, 3)


def bundle_with(table: Any, data: bytes = b"\0" * 64) -> bytes:
    text = json.dumps(table).encode()
    head = b"PYBURN\r\n" + struct.pack("<II", 1, 0)
    return head + data + text + struct.pack("<QQII", 16 + len(data), len(text), zlib.crc32(text), 1) + b"PYBURN\r\n"


def row(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "dtype": "float32", "shape": [4], "offset": 64, "bytes": 16, "crc32": zlib.crc32(b"\0" * 16), **changes}


def test_hostile_bundles() -> None:
    table: dict[str, Any] = {"config": None, "metadata": {}, "tensors": [row()], "sections": []}
    assert Bundle(bundle_with(table)).tensors["x"].load().tolist() == [0] * 4
    for change, reason in (
        ({"tensors": [row(offset=80)]}, "outside the file"),
        ({"tensors": [row(offset=2**64 - 8)]}, "outside the file"),
        ({"tensors": [row(offset=0)]}, "outside the file"),
        ({"tensors": [row(bytes=15)]}, "does not fit its shape"),
        ({"tensors": [row(shape=[5])]}, "does not fit its shape"),
        ({"tensors": [row(shape=[2**62, 8])]}, "too large"),
        ({"tensors": [row(shape=[-4])]}, "not an extent"),
        ({"tensors": [row(shape=3)]}, "list of extents"),
        ({"tensors": [row(dtype="float31")]}, "not supported"),
        ({"tensors": [row(dtype=3)]}, "must be text"),
        ({"tensors": [row(offset="a")]}, "whole number"),
        ({"tensors": [row(), row()]}, "named twice"),
        ({"tensors": [3]}, "lacks"),
        ({"metadata": []}, "not an object"),
        ({"metadata": {"a": 1}}, "not text"),
        ({"sections": [{"name": "a", "offset": 60, "bytes": 100, "crc32": 0}]}, "outside the file"),
    ):
        with pytest.raises(pyburn.FormatError, match=reason):
            Bundle(bundle_with({**table, **change}))
    with pytest.raises(pyburn.FormatError, match="lacks 'config'"):
        Bundle(bundle_with({}))
    with pytest.raises(pyburn.FormatError, match="'a' is damaged"):
        Bundle(bundle_with({**table, "sections": [{"name": "a", "offset": 64, "bytes": 3, "crc32": 0}]}))


# --- models -------------------------------------------------------------------------------------------------------


def model() -> nn.Sequential:
    return nn.Sequential(OrderedDict(conv=nn.Conv2d(1, 2, 2), norm=nn.BatchNorm2d(2), flat=nn.Flatten(), fc=nn.Linear(8, 3)))


def equal_models(a: nn.Module, b: nn.Module) -> bool:
    return all(same(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values()))


@pytest.mark.parametrize("ending", ["safetensors", "pt", "npz", "pyburn"])
def test_models_in_any_format(ending: str, tmp_path: Path) -> None:
    a, b = model(), model()
    save_module(a, tmp_path / f"model.{ending}")
    report = load_into(b, tmp_path / f"model.{ending}")
    assert report.complete and report and equal_models(a, b)
    assert report.applied == list(a.state_dict()) and not report.missing and not report.unused and not report.errors


@pytest.mark.parametrize("name", ["state_dict.pt", "state_dict.legacy.pt", "inside.pt"])
def test_models_of_torch(name: str) -> None:
    net = model()
    load_into(net, FOLDER / name, key="model.state_dict" if name == "inside.pt" else "")
    x = pyburn.tensor(EXPECTED["model"]["x"]).view(4, 1, 3, 3)
    assert pyburn.allclose(net.eval()(x).flatten(), pyburn.tensor(EXPECTED["model"]["y"]), atol=1e-5)
    assert net.conv.weight.requires_grad


def test_reports(tmp_path: Path) -> None:
    net = model()
    before = {name: t.clone() for name, t in net.state_dict().items()}
    state = dict(net.state_dict())
    state["fc.weight"] = pyburn.ones(2, 2)
    state["other.weight"] = pyburn.ones(1)
    del state["conv.bias"], state["norm.num_batches_tracked"]
    state["conv.weight"] = pyburn.full((2, 1, 2, 2), 5.0)
    write_tensors(state, tmp_path / "part.safetensors")
    with pytest.raises(ValueError, match=r"the file does not fit Sequential") as caught:
        load_into(net, tmp_path / "part.safetensors", strict=False)
    text = str(caught.value)
    assert "0 applied, 1 missing, 1 unused, 0 skipped, 1 errors" in text and "conv.bias (Conv2d)" in text and "other.weight" in text
    assert "fc.weight: the shape differs: got (2, 2) in the file, (3, 8) in the model" in text
    assert all(same(net.state_dict()[name], t) for name, t in before.items())  # as it was

    with pytest.raises(ValueError, match="1 missing, 1 unused"):
        load_into(net, tmp_path / "part.safetensors", exclude=r"^fc\.weight$")
    report = load_into(net, tmp_path / "part.safetensors", exclude=r"^fc\.weight$", strict=False)
    assert report.missing == ["conv.bias"] and report.unused == ["other.weight"] and report.skipped == ["fc.weight"]
    assert not report.complete and not report and net.conv.weight[0, 0, 0, 0] == 5 and "Missing in the file (1):" in str(report)
    assert same(net.fc.weight.detach(), before["fc.weight"])
    for choice in ({"include": "^conv"}, {"include": ["^conv"]}, {"include": lambda name: name.startswith("conv.")}):
        report = load_into(net, tmp_path / "part.safetensors", strict=False, **choice)
        assert report.applied == ["conv.weight"] and report.missing == ["conv.bias"]
        assert "other.weight" in report.skipped and "fc.weight" in report.skipped


def test_hints(tmp_path: Path) -> None:
    net = model()
    save_module(net, tmp_path / "wrapped.safetensors", rename={"^": "module."})
    with pytest.raises(ValueError, match=r"Hint: names in the file begin with 'module\.'"):
        load_into(net, tmp_path / "wrapped.safetensors")
    assert load_into(net, tmp_path / "wrapped.safetensors", rename=[(r"^module\.", "")]).complete
    assert load_into(net, tmp_path / "wrapped.safetensors", rename=lambda name: name.removeprefix("module.")).complete
    with pytest.raises(ValueError, match=r"Hint: names in the file lack '0\.'"):
        load_into(nn.Sequential(model()), FOLDER / "state_dict.pt")
    with pytest.raises(ValueError, match="two tensors of the file have this name"):
        load_into(net, tmp_path / "wrapped.safetensors", rename={".*": "same"})
    with pytest.raises(ValueError, match="Hint: names in the file begin with 'model.state_dict.'"):
        load_into(net, FOLDER / "inside.pt")
    with pytest.raises(ValueError, match="nothing under this key: got 'absent'"):
        load_into(net, FOLDER / "inside.pt", key="absent")


def test_burn_layout(tmp_path: Path) -> None:
    a, b = model(), model()
    with pyburn.no_grad():
        a.norm.weight.copy_(pyburn.tensor([2.0, 3.0]))
    path = tmp_path / "burn.safetensors"
    save_module(a, path, adapter=burn_layout())
    file = open_tensors(path)
    assert file["fc.weight"].shape == (8, 3) and file["norm.gamma"].load().tolist() == [2, 3] and "norm.beta" in file
    assert pyburn.equal(file["fc.weight"].load(), a.fc.weight.detach().T)
    with pytest.raises(ValueError, match="seems to come from Burn"):
        load_into(b, path)
    assert load_into(b, path, adapter=burn_layout()).complete and equal_models(a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_on_disk(dtype: str, tmp_path: Path) -> None:
    a, b = model(), model()
    path = tmp_path / "half.safetensors"
    half = getattr(pyburn, dtype)
    save_module(a, path, adapter=half_precision(half))
    file = open_tensors(path)
    assert file["fc.weight"].dtype is half and file["norm.weight"].dtype is pyburn.float32
    load_into(b, path)
    assert b.fc.weight.dtype is pyburn.float32 and pyburn.equal(b.fc.weight, a.fc.weight.to(half).float())
    load_into(b, path, dtype="file")
    assert b.fc.weight.dtype is half and isinstance(b.fc.weight, nn.Parameter) and b.fc.weight.requires_grad
    save_module(a, path, adapter=half_precision(half, except_modules=()))
    assert open_tensors(path)["norm.weight"].dtype is half
    save_module(a, path, adapter=[burn_layout(), half_precision(half)])
    assert open_tensors(path)["fc.weight"].shape == (8, 3) and open_tensors(path)["fc.weight"].dtype is half
    with pytest.raises(ValueError, match="'model' or 'file'"):
        load_into(b, path, dtype="half")
    with pytest.raises(TypeError, match="floating"):
        half_precision(pyburn.int8)


class Doubling(pyburn.io.Adapter):
    def file_name(self, place: pyburn.io.Place) -> str:
        return "kernel" if place.module_type == "Conv2d" and place.name == "weight" else place.name

    def to_file(self, tensor: pyburn.Tensor, place: pyburn.io.Place) -> pyburn.Tensor:
        return tensor * 2 if place.path == "fc.bias" else tensor

    def from_file(self, tensor: pyburn.Tensor, place: pyburn.io.Place) -> pyburn.Tensor:
        return tensor / 2 if place.path == "fc.bias" else tensor


class Failing(pyburn.io.Adapter):
    def from_file(self, tensor: pyburn.Tensor, place: pyburn.io.Place) -> Any:
        return None if place.module == "fc" else 1 / 0


def test_adapters_of_ones_own(tmp_path: Path) -> None:
    a, b = model(), model()
    path = tmp_path / "x.safetensors"
    for adapter in (Doubling(), [Doubling()], [burn_layout(), Doubling()], [Doubling(), burn_layout()]):
        save_module(a, path, adapter=adapter)
        assert "conv.kernel" in open_tensors(path)
        assert pyburn.equal(open_tensors(path)["fc.bias"].load(), a.fc.bias.detach() * 2)
        assert load_into(b, path, adapter=adapter).complete and equal_models(a, b)
    with pytest.raises(ZeroDivisionError):
        load_into(b, path, adapter=Failing())
    with pytest.raises(ZeroDivisionError):
        load_into(b, path, rename=lambda name: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="expected a str: got 3"):
        load_into(b, path, rename=lambda name: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError):
        load_into(3, path)  # type: ignore[arg-type]


def test_store(tmp_path: Path) -> None:
    a, b = model(), model()
    path = tmp_path / "model.safetensors"
    store = Store(path).rename("^", "net.").rename(r"fc\.", "head.").exclude("num_batches").half_precision().metadata(epoch="3")
    store.save(a)
    assert sorted(store.keys())[:2] == ["net.conv.bias", "net.conv.weight"] and store["net.head.weight"].dtype is pyburn.float16
    assert store.open().metadata == {"epoch": "3"}
    back = Store(path, mmap=True).rename(r"^net\.", "").rename("^head", "fc")
    assert back.load_into(b).complete and pyburn.allclose(b.fc.weight, a.fc.weight, atol=1e-3)
    assert Store(path).allow_partial().load_into(b).applied == []
    assert Store(path).rename(r"^net\.", "").include("^conv", "^norm").load_into(b).skipped
    nested = Store(FOLDER / "inside.pt", key="model.state_dict")
    assert nested.load_into(b).complete


def test_gaps_in_lists_are_closed(tmp_path: Path) -> None:
    a = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    b = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4), nn.Linear(4, 1))
    save_module(a, tmp_path / "gaps.safetensors", rename={"^": "net."})
    with pytest.raises(ValueError, match="net"):
        Store(tmp_path / "gaps.safetensors").contiguous_indices().load_into(b)
    assert Store(tmp_path / "gaps.safetensors").contiguous_indices().rename(r"^net\.", "").load_into(b).complete
    assert pyburn.equal(a[4].weight, b[2].weight)
    names = ["a.3.w", "a.10.w", "a.3.b.7", "b.1", "2", "x", "a.99999999999.w"]
    assert pyburn._core._io.contiguous_indices(names) == ["a.0.w", "a.1.w", "a.0.b.0", "b.0", "0", "x", "a.99999999999.w"]


def test_parameters_keep_their_identity(tmp_path: Path) -> None:
    net = model()
    save_module(net, tmp_path / "x.pt")
    weight, version = net.fc.weight, net.fc.weight._version
    load_into(net, tmp_path / "x.pt")
    assert net.fc.weight is weight and weight._version > version and weight.is_leaf and weight.grad is None


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.second = self.first
        self.register_buffer("steps", pyburn.zeros(1, dtype=pyburn.int64))
        self.register_buffer("scratch", pyburn.zeros(1), persistent=False)


def test_shared_modules_and_buffers(tmp_path: Path) -> None:
    a, b = Tied(), Tied()
    a.steps += 3
    save_module(a, tmp_path / "x.pyburn", metadata={"a": "b"}, config={"made": 1})
    assert sorted(open_tensors(tmp_path / "x.pyburn")) == ["first.weight", "second.weight", "steps"]
    assert load_into(b, tmp_path / "x.pyburn").complete and b.steps.item() == 3 and pyburn.equal(a.first.weight, b.second.weight)
    assert Bundle(tmp_path / "x.pyburn").config == {"made": 1}
    with pytest.raises(ValueError, match=r"only \.pyburn files hold a config"):
        save_module(a, tmp_path / "x.pt", config={})


def test_on_other_devices(tmp_path: Path) -> None:
    a, b = model(), model().to("numpy")
    save_module(b, tmp_path / "x.safetensors")
    assert load_into(a, tmp_path / "x.safetensors", mmap=True).complete and equal_models(a, b.to("cpu"))
    b.to("fusion(cpu)")
    assert load_into(b, tmp_path / "x.safetensors").complete and b.fc.weight.device == "fusion(cpu)" and equal_models(a, b.to("cpu"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_large_files_pass_one_tensor_at_a_time(tmp_path: Path) -> None:
    """Sixty-four megabytes go from file to file with little more memory than one tensor of four."""
    import subprocess

    program = """
import resource, sys
import pyburn
from pyburn.io import open_tensors, write_tensors
source, target = sys.argv[1:]
file = open_tensors(source)
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
before = anonymous()
write_tensors(file, target)
print(anonymous() - before)
"""
    tensors = {f"t{i}": pyburn.full((1 << 20,), float(i)) for i in range(16)}
    write_tensors(tensors, tmp_path / "a.safetensors")
    for ending in ("safetensors", "pt", "pyburn", "npz"):
        command = [sys.executable, "-c", program, tmp_path / "a.safetensors", tmp_path / f"b.{ending}"]
        grown = int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        assert grown < 24_000, (ending, grown)  # kilobytes
