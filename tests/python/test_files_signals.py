"""Readers of arrays and signals: idx, WAV, MAT."""

from __future__ import annotations

import gzip
import os
import struct
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyburn import FormatError
from pyburn.data import files

DATA = os.environ.get("PYBURN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "data.json"


# --- idx ---


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
def test_idx_is_read_as_it_was_written(dtype: str, tmp_path: Path) -> None:
    array = (np.arange(24).reshape(2, 3, 4) * 5 - 7).astype(dtype)
    files.write_idx(str(tmp_path / "x"), array)
    (tmp_path / "x.gz").write_bytes(gzip.compress((tmp_path / "x").read_bytes()))
    for name in ("x", "x.gz"):
        read = files.read_idx(tmp_path / name)
        assert read.dtype == array.dtype and (read == array).all()


def test_idx_claims_are_checked() -> None:
    huge = struct.pack(">HBB3I", 0, 8, 3, 2**31, 2**31, 2**31)
    with pytest.raises(FormatError, match="wants 9903520314283042199192993792 bytes: got 4"):
        files.read_idx(huge + b"abcd")
    with pytest.raises(FormatError, match="more than .* bytes of gzip can hold"):
        files.read_idx(gzip.compress(huge))
    with pytest.raises(FormatError, match="too large, though nothing is in it"):
        files.read_idx(struct.pack(">HBB4I", 0, 8, 4, 0, 2**32 - 1, 2**32 - 1, 2**32 - 1))
    with pytest.raises(FormatError, match="not an idx file"):
        files.read_idx(b"\x00\x01\x08\x01\x00\x00\x00\x01a")
    with pytest.raises(FormatError, match="the gzip data is damaged"):
        files.read_idx(gzip.compress(huge)[:10])


# --- WAV ---


@pytest.mark.parametrize("bits", [8, 16, 24, 32, None])
def test_wav_goes_there_and_back(bits: int | None, tmp_path: Path) -> None:
    sound = np.stack([np.sin(np.arange(1001) / 7), np.cos(np.arange(1001) / 9)]).astype(np.float32) * 0.9
    files.write_wav(tmp_path / "a.wav", sound, 22050, bits)
    read, rate = files.read_wav(tmp_path / "a.wav")
    assert rate == 22050 and read.shape == sound.shape and read.dtype == np.float32
    assert np.abs(read - sound).max() <= (2.0 ** -(bits - 1) if bits else 0)
    part, _ = files.read_wav(tmp_path / "a.wav", start=10, frames=5)
    assert (part == read[:, 10:15]).all()


def test_wav_agrees_with_the_standard_library(tmp_path: Path) -> None:
    values = np.array([[0, 1, -1, 32767, -32768], [5, 6, 7, 8, 9]], np.int16)
    with wave.open(str(tmp_path / "a.wav"), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(values.T.astype("<i2").tobytes())
    read, rate = files.read_wav(tmp_path / "a.wav", normalize=False)
    assert rate == 8000 and read.dtype == np.int16 and (read == values).all()
    files.write_wav(tmp_path / "b.wav", values, 8000)
    with wave.open(str(tmp_path / "b.wav")) as back:
        assert back.getparams()[:4] == (2, 2, 8000, 5) and back.readframes(5) == values.T.astype("<i2").tobytes()


def wav_bytes(head: bytes, body: bytes, size: int | None = None) -> bytes:
    return (
        b"RIFF\0\0\0\0WAVE"
        + b"LIST\x03\0\0\0abc\0"
        + struct.pack("<4sI", b"fmt ", len(head))
        + head
        + struct.pack("<4sI", b"data", len(body) if size is None else size)
        + body
    )


def test_wav_extensible_and_streamed_files_are_read() -> None:
    guid = struct.pack("<H", 3) + bytes.fromhex("000000001000800000aa00389b71")
    head = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 100, 400, 4, 32, 22, 32, 4) + guid
    body = np.array([0.5, -2.0], "<f4").tobytes()
    for size in (None, 0, 0xFFFFFFFF):
        assert files.read_wav(wav_bytes(head, body, size))[0].tolist() == [[0.5, -2.0]]


def test_wav_says_what_is_wrong() -> None:
    pcm = struct.pack("<HHIIHH", 1, 1, 100, 200, 2, 16)
    with pytest.raises(FormatError, match="ends inside the samples"):
        files.read_wav(wav_bytes(pcm, b"ab", 1 << 30))
    with pytest.raises(FormatError, match="format 85 with 16 bits are not supported"):
        files.read_wav(wav_bytes(struct.pack("<HHIIHH", 85, 1, 100, 200, 2, 16), b"ab"))
    with pytest.raises(FormatError, match="not a WAV file"):
        files.read_wav(b"RIFX" + bytes(60))
    with pytest.raises(ValueError, match="start must be"):
        files.read_wav(wav_bytes(pcm, b"abcd"), start=3)


# --- MAT ---


def equal(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict):
        return all(equal(value, theirs[name][0, 0]) for name, value in ours.items())
    if isinstance(ours, str):
        return ours == (str(theirs[0]) if theirs.size else "")
    if isinstance(ours, np.ndarray) and ours.dtype == object:
        return ours.shape == theirs.shape and all(
            equal(a, b.reshape(1, 1) if isinstance(a, dict) else b) for a, b in zip(ours.reshape(-1), theirs.reshape(-1))
        )
    return ours.shape == theirs.shape and bool((ours == theirs).all())


@pytest.mark.parametrize("compressed", [False, True])
def test_mat_is_as_scipy_writes_and_reads_it(compressed: bool, tmp_path: Path) -> None:
    io = pytest.importorskip("scipy.io")
    rng = np.random.default_rng(0)
    cell = np.empty((2, 2), object)
    cell[:] = [[np.eye(2), "word"], [np.zeros((0, 3)), np.arange(3, dtype=np.int8)]]
    content: dict[str, Any] = {
        "double": rng.normal(size=(3, 4, 2)),
        "single": rng.normal(size=(1, 5)).astype(np.float32),
        "whole": np.arange(-3, 3, dtype=np.int16).reshape(2, 3),
        "large": np.array([[2**63]], np.uint64),
        "complex": rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)),
        "flag": np.array([[True, False]]),
        "text": "grüße",
        "cell": cell,
        "struct": {"name": "x", "deep": {"values": np.ones((2, 2))}},
        "empty": np.zeros((0, 0)),
    }
    io.savemat(tmp_path / "a.mat", content, do_compression=compressed)
    ours, theirs = files.read_mat(tmp_path / "a.mat"), io.loadmat(tmp_path / "a.mat")
    assert list(ours) == list(content)
    for name, value in ours.items():
        assert equal(value, theirs[name]), name
        if isinstance(value, np.ndarray) and isinstance(content[name], np.ndarray):
            assert value.dtype == content[name].dtype, name  # scipy gives the dtype of storage, which may be a smaller one
    assert list(files.read_mat(tmp_path / "a.mat", ["text"])) == ["text"]
    with pytest.raises(KeyError, match="has no \\['nothing'\\]"):
        files.read_mat(tmp_path / "a.mat", ["nothing"])


def test_mat_sparse_and_struct_arrays(tmp_path: Path) -> None:
    io, sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    matrix = sparse.csc_matrix(np.array([[0, 2.0], [3, 0]]))
    people = np.array([[("Ada", 36), ("Alan", 41)]], dtype=[("name", object), ("age", object)])
    io.savemat(tmp_path / "a.mat", {"s": matrix, "people": people, "rows": np.array(["ab", "cd"])})
    read = files.read_mat(tmp_path / "a.mat")
    assert read["s"].shape == (2, 2) and read["s"].values.tolist() == [3, 2] and read["s"].rows.tolist() == [1, 0]
    assert [(p["name"], p["age"].item()) for p in read["people"][0]] == [("Ada", 36), ("Alan", 41)]
    assert read["rows"] == ["ab", "cd"]


def test_mat_refuses_other_versions_and_false_claims() -> None:
    with pytest.raises(FormatError, match="version 7.3, which is HDF5"):
        files.read_mat(b"MATLAB 7.3 MAT-file".ljust(200))
    with pytest.raises(FormatError, match="not a MAT file of version 5"):
        files.read_mat(bytes(200))
    header = b"MATLAB 5.0".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    with pytest.raises(FormatError, match="ends inside a variable: 4294967295 bytes"):
        files.read_mat(header + struct.pack("<II", 14, 2**32 - 1))
    flags = struct.pack("<IIII", 6, 8, 1, 0)  # a cell of 2^31 by 2^31
    shape = struct.pack("<IIii", 5, 8, 2**31 - 1, 2**31 - 1)
    with pytest.raises(FormatError, match="has the shape"):
        files.read_mat(header + struct.pack("<II", 14, 40) + flags + shape + struct.pack("<II", 1, 0))
    shape = struct.pack("<IIii", 5, 8, 2**20, 2**20)
    with pytest.raises(FormatError, match="claims 1099511627776 parts in 0 bytes"):
        files.read_mat(header + struct.pack("<II", 14, 40) + flags + shape + struct.pack("<II", 1, 0))


@needs_data
def test_mat_of_the_competition_is_as_scipy_reads_it() -> None:
    io = pytest.importorskip("scipy.io")
    path = Path(str(DATA)) / "eeg" / "sp1s_aa.mat"
    ours, theirs = files.read_mat(path), io.loadmat(path)
    assert ours["x_train"].shape == (50, 28, 316)
    assert all(equal(ours[name], theirs[name]) for name in ours)
