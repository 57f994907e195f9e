"""Readers of graphs: pickles through an allow-list, Planetoid, the TU collection."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from pyburn import FormatError
from pyburn.data import files

DATA = os.environ.get("PYBURN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "data.json"


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_pickles_of_arrays_are_read(protocol: int) -> None:
    links = defaultdict(list, {0: [1, 2], 300: [70000], 5: []})
    content = [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        {"a": (1, "b", None, True, 2.5, b"c")},
    ]
    read = files.read_pickled_arrays(pickle.dumps((links, content), protocol))
    assert read[0] == dict(links) and read[1][2] == content[2]
    assert all((a == b).all() and a.dtype == b.dtype.newbyteorder("=") for a, b in zip(read[1][:2], content[:2]))


def test_sparse_matrices_are_read() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 0]], np.float32)
    read = files.read_pickled_arrays(pickle.dumps(sparse.csr_matrix(dense), 2))
    assert read.shape == (3, 3) and (read.dense() == dense).all()


class Evil:
    def __reduce__(self) -> tuple:
        return os.system, ("exit 1",)


def test_pickles_cannot_call_anything_else() -> None:
    for protocol in (2, 4):
        with pytest.raises(FormatError, match="'(posix|nt).system', which no file of arrays needs; it is not loaded"):
            files.read_pickled_arrays(pickle.dumps(Evil(), protocol))
    with pytest.raises(FormatError, match="an instruction that files of arrays do not need"):
        files.read_pickled_arrays(b"ios\nsystem\n.")
    with pytest.raises(FormatError, match="arrays of 'O8' are not read"):
        files.read_pickled_arrays(pickle.dumps(np.array([None]), 2))
    with pytest.raises(FormatError, match="ends inside bytes"):
        files.read_pickled_arrays(b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"abc")


@needs_data
@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_citation_graphs_are_as_pytorch_geometric_reads_them(name: str) -> None:
    graph = files.read_planetoid(Path(str(DATA)) / "planetoid", name)._asdict()
    for key, (shape, dtype, digest) in json.loads(GOLDEN.read_text())["citation_graphs"][name].items():
        value = np.ascontiguousarray(graph[key])
        assert (list(value.shape), str(value.dtype)) == (shape, dtype)
        assert hashlib.sha256(value.tobytes()).hexdigest() == digest, key


@needs_data
def test_planetoid_files_must_fit_together(tmp_path: Path) -> None:
    for path in (Path(str(DATA)) / "planetoid").glob("ind.cora.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "ind.cora.test.index").write_text("5\n6\n")
    with pytest.raises(FormatError, match="the files of cora do not match"):
        files.read_planetoid(tmp_path, "cora")


TEXT = "2\n3 1\n0 1 1\n2 2 0 2\n0 1 1\n1 0\n1 0\n"


def test_the_one_file_form_of_graphs_is_read() -> None:
    first, second = files.read_graph_text(TEXT.encode())
    assert first.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]] and first.node_labels is not None
    assert (first.y, first.num_nodes, first.node_labels.tolist()) == (1, 3, [0, 2, 0])
    assert second.edge_index.shape == (2, 0) and second.num_nodes == 1


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("2\n3 1", "3\n3 1", "ends where a graph should come"),
        ("2\n3 1", "x\n3 1", "line 1 has 'x'"),
        ("2 2 0 2", "2 2 0 7", "names a neighbour that is not among the 3 nodes"),
        ("2 2 0 2", "2 5 0 2", "fewer neighbours than the 5"),
        ("3 1\n", "99999999999 1\n", "should be the nodes and the class"),
    ],
)
def test_graph_text_says_what_is_wrong(old: str, new: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        files.read_graph_text(TEXT.replace(old, new).encode())


def test_tu_folders_are_read(tmp_path: Path) -> None:
    content = {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n2, 1\n",
        "graph_indicator": "1\n1\n2\n2\n2\n",
        "graph_labels": "-1\n1\n",
        "node_labels": "0\n1\n2\n0\n0\n",
        "node_attributes": "0.5, 1\n1, 2\n3, 4\n5, 6\n7, 8\n",
        "edge_labels": "0\n1\n2\n3\n4\n",
    }
    for part, text in content.items():
        (tmp_path / f"T_{part}.txt").write_text(text)
    first, second = files.read_tu_folder(tmp_path, "T")
    assert first.edge_index.tolist() == [[0, 1, 1], [1, 0, 0]] and (first.y, second.y) == (-1, 1)
    assert first.edge_labels is not None and first.edge_labels.tolist() == [0, 1, 4]
    assert second.num_nodes == 3 and second.edge_index.tolist() == [[0, 1], [1, 0]]
    assert second.node_attributes is not None and second.node_attributes.tolist() == [[3, 4], [5, 6], [7, 8]]
    (tmp_path / "T_A.txt").write_text("1, 3\n")
    (tmp_path / "T_edge_labels.txt").unlink()
    with pytest.raises(FormatError, match="links nodes of different graphs"):
        files.read_tu_folder(tmp_path, "T")
