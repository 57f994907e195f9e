"""Damages small files of every format that pyburn reads: a reader gives a result or raises FormatError, within bounds of time and memory.

    python tests/fuzz/damaged_files.py --runs 2000 --seed 1 [--format csv]

Runs in forked children, so that a crash, a hang or a huge allocation is a finding like any other.
Deterministic: format and seed give the file.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import pickle
import random
import resource
import signal
import sqlite3
import struct
import sys
import tempfile
import wave
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pyburn
from pyburn import FormatError, chemistry, eeg
from pyburn.data import coco, files
from pyburn.data.image_files import load_image
from pyburn.data.text import BytePairTokeniser, load_tokeniser
from pyburn.data.unpack import unpack_members

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from edf_files import edf_bytes

SECONDS, MEMORY = 5, 2 << 30
HOSTILE = [
    *(b"\0", b"\xff", b"\x7f", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", bytes(8), b"\xff" * 8, b"\xed\xa0\x80", b"\xc3"),
    *(
        b"\xf8\x88\x80\x80\x80",
        b'"\\ud800"',
        b"-1",
        b"1e999",
        b"nan",
        b"9" * 30,
        b"9" * 5000,
        b"[" * 3000,
        b'{"a":' * 1500,
        b"\n",
        b'"',
        b"\r\n,,,",
    ),
    *(b"null", b"true", b"{}", b"[]", b"../../x", b"\xef\xbb\xbf", b"\x1f\x8b", b"PK\x03\x04"),
]


def damaged(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """The data with some bits, bytes or digits changed, put in, left out, doubled or spliced with another file."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, kind = rng.randrange(len(made) + 1), rng.randrange(9)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(made):
            made[at] = rng.randrange(256)
        elif kind == 2:
            piece = rng.choice(HOSTILE)
            made[at : at + len(piece)] = piece
        elif kind == 3:
            made[at:at] = rng.choice(HOSTILE)
        elif kind == 4:
            del made[at : at + rng.choice([1, 2, 8, 64])]
        elif kind == 5:
            made[at:at] = made[at : at + rng.choice([4, 32, 128])]
        elif kind == 6:
            other = rng.choice(others)
            start = rng.randrange(len(other) + 1)
            made[at : at + 64] = other[start : start + rng.randrange(64)]
        elif kind == 7:
            digits = [i for i, byte in enumerate(made) if 48 <= byte <= 57]
            if digits:
                place = rng.choice(digits)
                made[place : place + 1] = rng.choice([b"0", b"9", b"-1", b"99999999999999999999", b"1e9", b"4294967296", b"x"])
        elif rng.random() < 0.3:
            del made[at:]
    return bytes(made)


def saved(save: Callable[[Path], Any], name: str = "file") -> bytes:
    """What `save` writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        save(path)
        return path.read_bytes()


def state() -> dict[str, Any]:
    weight = pyburn.arange(12.0).reshape(3, 4)
    return {"weight": weight, "view": weight.t(), "epoch": 3, "names": ["a", ("b", 2.5)], "none": None}


def database(path: Path) -> None:
    connection = sqlite3.connect(path)
    array = io.BytesIO()
    np.save(array, np.eye(3))
    connection.execute("CREATE TABLE train (row_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, a BLOB, b TEXT)")
    connection.executemany("INSERT INTO train (a, b) VALUES (?, ?)", [(array.getvalue(), "x"), (b"y", None)])
    connection.commit()
    connection.close()


def wav_bytes() -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((2, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(range(120)))
    return out.getvalue()


def mat_bytes() -> bytes:
    """A MAT file of version 5 with one matrix, written by hand: scipy may be missing."""

    def part(kind: int, body: bytes) -> bytes:
        return struct.pack("<II", kind, len(body)) + body + bytes(-len(body) % 8)

    matrix = part(6, struct.pack("<II", 6, 0)) + part(5, struct.pack("<ii", 2, 3)) + part(1, b"a") + part(9, np.arange(6.0).tobytes())
    return b"MATLAB 5.0".ljust(124) + struct.pack("<H2s", 0x0100, b"IM") + part(14, matrix)


def npz_bytes() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, a=np.eye(3, dtype=np.float32), b=np.arange(5))
    return out.getvalue()


def npy_bytes() -> bytes:
    out = io.BytesIO()
    np.save(out, np.eye(3, dtype=np.float32))
    return out.getvalue()


def zip_bytes() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.txt", "some text " * 20)
    return out.getvalue()


def graph(path: Path) -> None:
    pyburn.inference.capture(pyburn.nn.Linear(4, 3), pyburn.zeros(2, 4)).save(str(path))


def picture(format: str) -> Callable[[], bytes]:
    def make() -> bytes:
        from PIL import Image

        out = io.BytesIO()
        Image.fromarray(np.arange(12 * 9 * 3, dtype=np.uint8).reshape(12, 9, 3)).save(out, format)
        return out.getvalue()

    return make


def read_recording(path: Path) -> None:
    opened = eeg.read_edf(path, allow_truncated=True)
    for i in range(len(opened.signals)):
        opened.signal(i)


def read_database(path: Path) -> None:
    rows = files.SqliteDataset(path, "train")
    for i in range(min(len(rows), 3)):
        rows[i]


def read_all(dataset: Any) -> None:
    for i in range(min(len(dataset), 5)):
        dataset[i]


def read_tensors(path: Path) -> None:
    for snapshot in pyburn.io.open_tensors(path).values():
        snapshot.load()


def read_bundle(path: Path) -> None:
    for snapshot in pyburn.io.Bundle(path).tensors.values():
        snapshot.load()


def read_run(path: Path) -> None:
    record = pyburn.train.read_run(path.parent)
    record.status, record.config, record.state, record.names()
    list(record.lines())


class Settings(pyburn.config.Config):
    width: int = 3
    rate: float = 0.5
    names: list[str] = pyburn.config.field(default_factory=list)


SDF = b"""x
 program

  2  1  0  0  0  0  0  0  0  0999 V2000
    0.0000    1.0000   -0.5000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.5000    0.0000    0.0000 O   0  5  0  0  0  0  0  0  0  0  0  0
  1  2  2  0
M  CHG  1   2  -1
M  END
$$$$
"""
SDF3 = b"""x
 program

  0  0  0     0  0            999 V3000
M  V30 BEGIN CTAB
M  V30 COUNTS 2 1 0 0 0
M  V30 BEGIN ATOM
M  V30 1 C 0.0 1.0 -0.5 0
M  V30 2 O 1.5 0.0 0.0 0 CHG=-1
M  V30 END ATOM
M  V30 BEGIN BOND
M  V30 1 1 1 2
M  V30 END BOND
M  V30 END CTAB
M  END
"""
COCO = {
    "categories": [{"id": 1, "name": "cat"}],
    "images": [{"id": 5, "file_name": "a.png"}],
    "annotations": [{"image_id": 5, "category_id": 1, "bbox": [1, 2, 3.5, 4]}],
}

# The name of the file, a good file, and all that a program would do with it.
FORMATS: dict[str, tuple[str, Callable[[], bytes], Callable[[Path], Any]]] = {
    "pytorch": ("a.pt", lambda: saved(lambda path: pyburn.save(state(), path)), pyburn.load),
    "pytorch tensors": ("a.pt", lambda: saved(lambda path: pyburn.save(state(), path)), read_tensors),
    "safetensors": ("a.safetensors", lambda: pyburn.io.safetensors.save({"w": pyburn.ones(3)}), read_tensors),
    "npy": ("a.npy", npy_bytes, pyburn.io.load_npy),
    "npz": ("a.npz", npz_bytes, pyburn.io.load_npz),
    "bundle": ("a.pyburn", lambda: saved(lambda path: pyburn.io.Bundle.save(path, {"w": pyburn.ones(2)}, config={"a": [1]})), read_bundle),
    "graph": ("a.graph", lambda: saved(graph), pyburn.inference.load),
    "config": ("a.json", lambda: Settings().to_json().encode(), Settings.load),
    "csv": ("a.csv", lambda: b'a,b,"c d"\n1,2.5,x\n3,,"y ""z"""\n', files.read_csv),
    "csv.gz": ("a.csv.gz", lambda: gzip.compress(b"a,b\n1,2\n"), files.read_csv),
    "lines": ("a.txt", lambda: "one\r\ntwo é\n\nfour".encode(), lambda path: (files.read_lines(path), read_all(files.LinesDataset(path)))),
    "json lines": (
        "a.jsonl",
        lambda: b'{"a": 1}\n[2.5, "x\\u00e9"]\n',
        lambda path: (files.read_json_lines(path), read_all(files.JSONLinesDataset(path))),
    ),
    "idx": ("a.idx", lambda: struct.pack(">HBB2I", 0, 12, 2, 3, 4) + bytes(48), files.read_idx),
    "idx.gz": ("a.idx.gz", lambda: gzip.compress(struct.pack(">HBB2I", 0, 8, 2, 30, 40) + bytes(1200)), files.read_idx),
    "wav": ("a.wav", wav_bytes, files.read_wav),
    "edf": ("a.edf", lambda: edf_bytes([("a", np.arange(20), 10), ("b", np.arange(8), 4)], 2), read_recording),
    "bdf": ("a.bdf", lambda: edf_bytes([("a", np.arange(20), 10), ("Status", np.arange(20), 10)], 2, bdf=True), read_recording),
    "mat": ("a.mat", mat_bytes, files.read_mat),
    "pickle": ("a.pkl", lambda: pickle.dumps([{"a": np.arange(5), 3: [1, 2, (3, "x")]}, np.eye(2)], 2), files.read_pickled_arrays),
    "message pack": (
        "a",
        lambda: b"\x93\xa5hello\xcb\x3f\xf8\0\0\0\0\0\0\x82\xa1a\xcd\x01\x02\xa1b\xdc\x00\x02\x01\xc0",
        lambda path: files.unpack_message(path.read_bytes()),
    ),
    "sqlite": ("a.db", lambda: saved(database), read_database),
    "sdf": ("a.sdf", lambda: SDF, chemistry.read_sdf),
    "sdf v3000": ("a.sdf", lambda: SDF3, chemistry.read_sdf),
    "smiles": ("a.smi", lambda: b"C[C@@H](N)C(=O)Oc1ccc2[nH]c3c(C#N)cccc3c2c1.[Na+] name\nCCO\n", chemistry.read_smiles),
    "graph text": ("a.txt", lambda: b"2\n3 1\n0 1 1\n2 2 0 2\n0 1 1\n1 0\n1 0\n", files.read_graph_text),
    "coco": ("a.json", lambda: json.dumps(COCO).encode(), lambda path: coco.read_coco(path, path.parent)),
    "archive": ("a.zip", zip_bytes, lambda path: unpack_members(path, path.parent / "out", {"a.txt": "a.txt"})),
    "png": ("a.png", picture("PNG"), load_image),
    "jpeg": ("a.jpg", picture("JPEG"), load_image),
    "bmp": ("a.bmp", picture("BMP"), load_image),
    "tokeniser": ("a.json", lambda: saved(lambda path: BytePairTokeniser.train(["ab ab abc"], 270).save(path)), load_tokeniser),
    "run": ("run.json", lambda: b'{"state": "running", "pid": 1, "name": "x", "epoch": 2}', read_run),
}


def attempts(name: str, seeds: range, path: Path, report: Any) -> None:
    """In the child: writes one character for each file, and a line for each finding."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + (6 << 30), MEMORY + (6 << 30)))
    _, make, read = FORMATS[name]
    data = make()
    path.write_bytes(data)
    read(path)
    others = [b"".join(HOSTILE), SDF, SDF3, data]
    for seed in seeds:
        report.write(f"{seed}\n")
        report.flush()
        path.write_bytes(damaged(data, random.Random(f"{name} {seed}"), others))
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            read(path)
            report.write("read\n")
        except FormatError:
            report.write("refused\n")
        except Exception as error:
            report.write(f"found {type(error).__module__}.{type(error).__name__}: {str(error)[:150]!r}\n")
        signal.setitimer(signal.ITIMER_REAL, 0)


def fuzz(name: str, runs: int, first: int) -> tuple[Counter[str], list[str]]:
    """Counts of what happened to the files of one format, and the findings."""
    counts: Counter[str] = Counter()
    found: list[str] = []
    seeds = range(first, first + runs)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        while seeds:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    with open(report, "w", errors="replace") as out:
                        attempts(name, seeds, Path(folder, FORMATS[name][0]), out)
                    code = 0
                finally:
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            current = seeds.start - 1
            for line in report.read_text().splitlines():
                if line.isdigit():
                    current = int(line)
                else:
                    counts[line.split(":")[0]] += 1
                    if line.startswith("found"):
                        found.append(f"{name}, seed {current}: {line[6:]}")
            if status == 0:
                break
            died = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "the good file cannot be read"
            found.append(f"{name}, seed {current}: {died}")
            if current < seeds.start:
                break
            seeds = range(current + 1, seeds.stop)
    return counts, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="damaged files per format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=list(FORMATS), help="only this one")
    parser.add_argument("--show", type=int, default=5, help="findings shown per format")
    options = parser.parse_args()
    failures = 0
    for name in [options.format] if options.format else FORMATS:
        counts, found = fuzz(name, options.runs, options.seed)
        print(f"{name:16} read {counts['read']:6} refused {counts['refused']:6} found {len(found):6}", flush=True)
        for line in found[: options.show]:
            print("   ", line)
        failures += bool(found)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
