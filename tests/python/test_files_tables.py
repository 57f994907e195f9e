"""Readers of rows: CSV, lines, JSON lines, Parquet, SQLite, numpy, MessagePack."""

from __future__ import annotations

import gzip
import io
import pickle
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import FormatError
from pyburn.data import files

# --- CSV ---


def test_columns_have_the_type_of_their_values() -> None:
    table = files.read_csv(b'i,f,b,s,gap,sgap\n1,1.5,true,x,1,a\n-2,2,False,"y, ""z""\nw",,\n3,1e3,TRUE,,NA,c\n')
    assert {name: table[name].dtype.name for name in table.columns} == {
        **{"i": "int64", "f": "float64", "b": "bool", "s": "object", "gap": "float64", "sgap": "object"}
    }
    assert table["s"].tolist() == ["x", 'y, "z"\nw', None] and np.isnan(table["gap"][1:]).all() and table["gap"][0] == 1
    assert table.row(1) == {"i": -2, "f": 2.0, "b": False, "s": 'y, "z"\nw', "gap": pytest.approx(np.nan, nan_ok=True), "sgap": None}
    assert table.numpy(["i", "f"]).tolist() == [[1, 1.5], [-2, 2], [3, 1000]]
    codes, categories = table.codes("sgap")
    assert codes.tolist() == [0, -1, 1] and categories == ["a", "c"]
    assert len(list(table)) == len(table) == 3 and "3 rows; i: int64" in repr(table)


def test_options_of_csv(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("\ufeffx\ty\n1\t2\n\n3\t4\n", encoding="utf-8")
    assert files.read_csv(tmp_path / "a.tsv")["y"].tolist() == [2, 4]
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"# made today\n1;2\n3;4\n"))
    table = files.read_csv(tmp_path / "a.csv.gz", delimiter=";", header=False, skip=1, names=["p", "q"], columns=["q"], dtypes={"q": float})
    assert table.columns == ["q"] and table["q"].dtype == np.float64
    assert files.read_csv(b"1  2\n 3 4 \n", delimiter=" ", header=False).numpy().tolist() == [[1, 2], [3, 4]]
    assert files.read_csv("a\nÄ\n".encode("latin-1"), encoding="latin-1")["a"][0] == "Ä"
    assert files.read_csv(b"a\n1_000\n")["a"][0] == "1_000"
    assert files.read_csv(b"a\nx\n", missing=["x"])["a"].tolist() == [None]
    assert files.read_csv(b"a,b\n")["a"].tolist() == []
    table = files.read_csv(b"price;n\n1,5;3\n-2,25;n/a\n#N/A;4\n1e3;5\n", delimiter=";", decimal=",")
    np.testing.assert_array_equal(table["price"], [1.5, -2.25, np.nan, 1000])
    assert np.isnan(table["n"][1]) and files.read_csv(b"a\n1.5\n", delimiter=";", decimal=",")["a"][0] == "1.5"
    noted = b'# made "today\na,b\n#1,2\n1,"x\n# inside\ny"\n2,#z\n'
    assert list(files.read_csv(noted, comment="#")) == [{"a": 1, "b": "x\n# inside\ny"}, {"a": 2, "b": "#z"}]
    assert files.read_csv(b"# made\n1 2\n", delimiter=" ", header=False, comment="#").numpy().tolist() == [[1, 2]]
    with pytest.raises(FormatError, match="line 4 has 1 fields"):
        files.read_csv(b"# x\na,b\n# y\n1\n", comment="#")
    with pytest.raises(ValueError, match="decimal must be one character, and not the delimiter"):
        files.read_csv(b"a\n", decimal=",")


@pytest.mark.parametrize(
    "data, options, message",
    [
        (b"a,b\n1,2\n3\n", {}, "line 3 has 1 fields: expected 2"),
        (b'a\n"x\n', {}, "line 2: unexpected end of data"),
        (b"", {}, "has no line with the names"),
        (b"a,a\n1,2\n", {}, "two columns are called 'a'"),
        (b"a\nx\n", {"dtypes": {"a": int}}, "line 2: 'x' in column 'a' is no int"),
        (b"a\n\xff\n", {}, "is not utf-8: byte 0xff at 2"),
        (b"\x1f\x8b\x08bad", {}, "the gzip data is damaged"),
    ],
)
def test_csv_says_what_is_wrong(data: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        files.read_csv(data, **options)


def test_columns_that_are_not_there() -> None:
    with pytest.raises(KeyError, match="no column 'c': there are 'a', 'b'"):
        files.read_csv(b"a,b\n1,2\n", columns=["c"])
    with pytest.raises(ValueError, match="the column 'a' is text"):
        files.read_csv(b"a\nx\n").numpy(["a"])


def test_rows_are_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y,kind\n1,2,cat\n3,4,dog\n5,6,cat\n")
    rows = files.CSVDataset(tmp_path / "a.csv")
    assert len(rows) == 3 and rows[1] == {"x": 3, "y": 4, "kind": "dog"}
    pairs = files.CSVDataset(tmp_path / "a.csv", target="kind", transform=lambda pair: (pair[0] * 2, pair[1]))
    assert pairs.classes == ["cat", "dog"] and pairs.features == ["x", "y"]
    features, target = pairs[1]
    assert features.tolist() == [6, 8] and features.dtype == pyburn.float32 and target.item() == 1 and target.dtype == pyburn.int64
    with pytest.raises(IndexError):
        pairs[3]


# --- lines ---


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n", "a\n\nb\r\nc", "\u2028x\n"])
def test_lines_are_read_at_once_or_one_by_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode())
    expected = [line.removesuffix("\r") for line in text.split("\n")]
    expected = expected[:-1] if expected[-1] == "" else expected
    assert files.read_lines(tmp_path / "a.txt") == expected
    lines = files.LinesDataset(tmp_path / "a.txt")
    assert [lines[i] for i in range(len(lines))] == expected
    assert pickle.loads(pickle.dumps(lines))._starts.tolist() == lines._starts.tolist()
    with pytest.raises(IndexError):
        lines[len(lines)]


def test_lines_of_other_programs(tmp_path: Path) -> None:
    """With a mark of the byte order, packed, in an encoding whose lines do not end with a byte."""
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\n[2]\n')
    for encoding in ("utf-8", "utf-8-sig"):
        values = files.JSONLinesDataset(tmp_path / "a.jsonl", encoding)
        assert [values[0], values[1]] == [{"a": 1}, [2]]
    (tmp_path / "mark.txt").write_bytes(b"\xef\xbb\xbf")
    assert len(files.LinesDataset(tmp_path / "mark.txt")) == len(files.read_lines(tmp_path / "mark.txt")) == 0
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"[2]\n"))
    assert files.read_json_lines(tmp_path / "a.jsonl.gz") == [[2]]
    with pytest.raises(FormatError, match=r"a\.jsonl\.gz is compressed with gzip.*decompress it"):
        files.JSONLinesDataset(tmp_path / "a.jsonl.gz")
    with pytest.raises(ValueError, match="the lines of utf-16 cannot be found one by one"):
        files.LinesDataset(tmp_path / "a.jsonl", encoding="utf-16")


def test_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": [1, null]}\n\n7\r\n   \n"x"\n{bad\n')
    values = files.JSONLinesDataset(tmp_path / "a.jsonl")
    assert [values[0], values[1]] == [{"a": [1, None]}, 7] and values[len(values) - 2] == "x"
    with pytest.raises(FormatError, match="line 6 is not JSON"):
        values[len(values) - 1]
    with pytest.raises(FormatError, match="line 6 is not JSON"):
        files.read_json_lines(tmp_path / "a.jsonl")
    with pytest.raises(FormatError, match="line 1 is not JSON"):
        files.read_json_lines(b"[" * 100000)


# --- Parquet ---


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="Parquet is read with pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    content = {
        "i": [1, None, 3, 4],
        "f": [0.5, 1.5, None, 2.5],
        "s": ["a", None, "c", "d"],
        "l": [[1], [], [2, 3], None],
        "b": [True, False, True, True],
    }
    parquet.write_table(arrow.table(content), tmp_path / "a.parquet", row_group_size=3)
    table = files.read_parquet(tmp_path / "a.parquet")
    assert np.isnan(table["i"][1]) and table["s"].tolist() == content["s"] and table["l"].tolist() == content["l"]
    assert table["b"].dtype == bool and table["f"].dtype == np.float64
    rows = files.ParquetDataset(tmp_path / "a.parquet", columns=["i", "s"])
    assert len(rows) == 4 and rows[3] == {"i": 4, "s": "d"} and rows[0] == {"i": 1, "s": "a"} and rows[-1] == rows[3]
    with pytest.raises(KeyError, match="no column 'x'"):
        files.read_parquet(tmp_path / "a.parquet", ["x"])
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(FormatError, match="parquet"):
        files.read_parquet(tmp_path / "b.parquet")


def test_parquet_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        files.read_parquet("a.parquet")


# --- SQLite ---


def test_sqlite_goes_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with files.SqliteDatasetWriter(path) as writer:
        assert not path.exists()
        for i in range(5):
            assert (
                writer.write("train", {"image": np.full((2, i), i, np.uint8), "label": i, "text": f"n{i}", "share": i / 2, "raw": b"x"})
                == i
            )
        writer.write('odd "name"', {"t": pyburn.tensor([1.0, 2.0]), "flag": True, "none": None})
    train = files.SqliteDataset(path, "train", transform=lambda item: {**item, "more": 1})
    assert len(train) == 5 and train.columns == ["image", "label", "text", "share", "raw"]
    item = train[3]
    assert item["image"].shape == (2, 3) and (item["image"] == 3).all() and (item["label"], item["share"], item["more"]) == (3, 1.5, 1)
    odd = files.SqliteDataset(path, 'odd "name"')
    assert odd[-1]["t"].tolist() == [1, 2] and odd[0]["flag"] == 1 and odd[0]["none"] is None
    assert pickle.loads(pickle.dumps(odd))[0]["flag"] == 1
    found: list[Any] = []
    threads = [threading.Thread(target=lambda i=i: found.append(train[i]["label"])) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1, 2, 3, 4]


def test_sqlite_writers_finish_or_leave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(RuntimeError), files.SqliteDatasetWriter(path) as writer:
        writer.write("train", {"a": 1})
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with files.SqliteDatasetWriter(path) as writer:
        writer.write("train", {"a": 1})
        with pytest.raises(ValueError, match="have the columns"):
            writer.write("train", {"b": 1})
        with pytest.raises(TypeError, match="may hold numbers, text, bytes and arrays: got list"):
            writer.write("train", {"a": [1]})
        with pytest.raises(ValueError, match="none of them row_id"):
            writer.write("test", {"row_id": 1})
    with pytest.raises(FileExistsError):
        files.SqliteDatasetWriter(path)
    with pytest.raises(FormatError, match="no table 'test': there are train"):
        files.SqliteDataset(path, "test")
    path.write_bytes(b"no database" * 100)
    with pytest.raises(FormatError, match="not a database"):
        files.SqliteDataset(path, "train")


def test_sqlite_of_burn_is_read(tmp_path: Path) -> None:
    """Burn keeps a row as MessagePack in the column item."""
    connection = sqlite3.connect(tmp_path / "burn.db")
    connection.execute("CREATE TABLE train (row_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, item BLOB NOT NULL)")
    packed = b"\x92\xa5hello\xcb\x3f\xf8\0\0\0\0\0\0"
    connection.execute("INSERT INTO train (item) VALUES (?)", [packed])
    connection.commit()
    connection.close()
    assert files.SqliteDataset(tmp_path / "burn.db", "train")[0] == ["hello", 1.5]


@pytest.mark.parametrize(
    "data, value",
    [
        (b"\xc0", None),
        (b"\xff", -1),
        (b"\xcd\x01\x00", 256),
        (b"\xd3" + b"\xff" * 8, -1),
        (b"\x82\xa1a\x01\xa1b\x91\xc3", {"a": 1, "b": [True]}),
        (b"\xc4\x02ab", b"ab"),
        (b"\xdc\x00\x02\x01\x02", [1, 2]),
        (b"\xd9\x02ab", "ab"),
    ],
)
def test_message_pack(data: bytes, value: Any) -> None:
    assert files.unpack_message(data) == value


@pytest.mark.parametrize("data", [b"", b"\xdd\xff\xff\xff\xff", b"\xc1", b"\x01\x02", b"\xa2\xff\xff", b"\x91" * 100, b"\x81\x90\x01"])
def test_message_pack_that_is_damaged(data: bytes) -> None:
    with pytest.raises(FormatError):
        files.unpack_message(data)


# --- numpy ---


def test_numpy_files_are_a_dataset(tmp_path: Path) -> None:
    x, y = np.arange(12.0).reshape(4, 3), np.arange(4)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    np.savez(tmp_path / "xy.npz", x=x, y=y)
    assert files.NumpyDataset(tmp_path / "x.npy")[2].tolist() == [6, 7, 8]
    for mmap in (True, False):
        both = files.NumpyDataset(tmp_path / "x.npy", tmp_path / "y.npy", mmap=mmap)
        assert len(both) == 4 and both[-1][0].tolist() == [9, 10, 11] and both[-1][1].item() == 3
    named = files.NumpyDataset(tmp_path / "xy.npz", transform=lambda item: item["y"].item())
    assert named[1] == 1 and files.NumpyDataset(tmp_path / "xy.npz", names=["y", "x"])[1][0].item() == 1
    with pytest.raises(KeyError, match="no array 'z'"):
        files.NumpyDataset(tmp_path / "xy.npz", names=["z"])
    np.save(tmp_path / "y.npy", y[:2])
    with pytest.raises(FormatError, match="differ in their number of rows"):
        files.NumpyDataset(tmp_path / "x.npy", tmp_path / "y.npy")
    out = io.BytesIO()
    np.save(out, np.array([None]), allow_pickle=True)
    (tmp_path / "o.npy").write_bytes(out.getvalue())
    with pytest.raises(FormatError):
        files.NumpyDataset(tmp_path / "o.npy")
