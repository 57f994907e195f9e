"""Graph classification data: the folders of the TU collection, and the single-file format of graph network benchmarks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .source import File, FormatError, read_text


class SmallGraph(NamedTuple):
    """A graph: links in both directions (2, links), a class or target value, and optional labels and attributes of nodes and links.

    >>> pyburn.data.files.read_tu_folder("data/MUTAG", "MUTAG")[0]  # doctest: +SKIP
    """

    edge_index: np.ndarray
    y: int | float
    num_nodes: int
    node_labels: np.ndarray | None = None
    node_attributes: np.ndarray | None = None
    edge_labels: np.ndarray | None = None
    edge_attributes: np.ndarray | None = None


def read_graph_text(file: File) -> list[SmallGraph]:
    """Reads the graphs of a single text file.

    The file has the number of graphs; per graph the number of nodes and the class; per node its label, number of neighbors, neighbors and
    attributes.

    Args:
        file: A path, bytes or an open binary file.

    Returns:
        The graphs.

    Raises:
        FormatError: The file is damaged.

    >>> len(pyburn.data.files.read_graph_text(b"1\\n2 0\\n0 1 1\\n0 1 0\\n"))
    1
    """
    lines = read_text(file, "graphs").splitlines()
    at = 0

    def numbers(what: str) -> list[int]:
        nonlocal at
        if at >= len(lines):
            raise FormatError(f"[graphs] the file ends where {what} should come, at line {at + 1}")
        at += 1
        return [_whole(word, at) for word in lines[at - 1].split()]

    head = numbers("the number of graphs")
    if len(head) != 1 or not 0 <= head[0] <= len(lines):
        raise FormatError(f"[graphs] the first line must be the number of graphs: got {lines[0][:40]!r}")
    graphs = []
    for _ in range(head[0]):
        first = numbers("a graph")
        if len(first) != 2 or not 0 <= first[0] <= len(lines) - at:
            raise FormatError(f"[graphs] line {at} should be the nodes and the class of a graph")
        nodes, label = first
        ends: list[tuple[int, int]] = []
        labels, attributes = [], []
        for node in range(nodes):
            if at >= len(lines):
                raise FormatError(f"[graphs] the file ends inside a graph, at line {at + 1}")
            words = lines[at].split()
            at += 1
            if len(words) < 2:
                raise FormatError(f"[graphs] line {at} should be a node")
            tag, degree = _whole(words[0], at), _whole(words[1], at)
            if not 0 <= degree <= len(words) - 2:
                raise FormatError(f"[graphs] line {at} has fewer neighbours than the {degree} it claims")
            neighbours = [_whole(word, at) for word in words[2 : 2 + degree]]
            if any(not 0 <= other < nodes for other in neighbours):
                raise FormatError(f"[graphs] line {at} names a neighbour that is not among the {nodes} nodes")
            ends.extend((node, other) for other in neighbours)
            labels.append(tag)
            attributes.append([_real(word, at) for word in words[2 + degree :]])
        width = len(attributes[0]) if attributes else 0
        if any(len(row) != width for row in attributes):
            raise FormatError(f"[graphs] the nodes of the graph before line {at + 1} differ in their number of attributes")
        known = np.array(attributes, np.float32) if width else None
        edges = np.array(ends, np.int64).reshape(-1, 2).T
        graphs.append(SmallGraph(np.ascontiguousarray(edges), label, nodes, np.array(labels, np.int64), known))
    return graphs


def read_tu_folder(folder: str | os.PathLike[str], name: str) -> list[SmallGraph]:
    """Reads the graphs of a folder of the TU collection: `<name>_A.txt`, `_graph_indicator.txt`, `_graph_labels.txt` and others.

    Args:
        folder: The folder.
        name: The name of the collection, such as "MUTAG".

    Returns:
        The graphs.

    Raises:
        FormatError: A file is damaged, or labels are missing.

    >>> len(pyburn.data.files.read_tu_folder("data/MUTAG", "MUTAG"))  # doctest: +SKIP
    188
    """
    folder = Path(folder)

    def table(part: str, dtype: type) -> np.ndarray | None:
        path = folder / f"{name}_{part}.txt"
        return _table(path, dtype) if path.exists() else None

    links, owner = _table(folder / f"{name}_A.txt", np.int64), _table(folder / f"{name}_graph_indicator.txt", np.int64)
    labels, values = table("graph_labels", np.int64), table("graph_attributes", np.float64)
    if labels is None and values is None:
        raise FormatError(f"[graphs] {folder} has neither {name}_graph_labels.txt nor {name}_graph_attributes.txt")
    targets = labels if labels is not None else values
    assert targets is not None
    owner = owner.reshape(-1) - 1
    count = len(targets)
    if links.shape[1] != 2 or (links.size and (links.min() < 1 or links.max() > len(owner))):
        raise FormatError(f"[graphs] {name}_A.txt links nodes that are not there: expected pairs of 1 to {len(owner)}")
    if (np.diff(owner) < 0).any() or (len(owner) and (owner[0] < 0 or owner[-1] >= count)):
        raise FormatError(f"[graphs] {name}_graph_indicator.txt is not in order, or names graphs beyond the {count} there are")
    tables = {
        "node_labels": table("node_labels", np.int64),
        "node_attributes": table("node_attributes", np.float32),
        "edge_labels": table("edge_labels", np.int64),
        "edge_attributes": table("edge_attributes", np.float32),
    }
    for part, rows in tables.items():
        wanted = len(owner) if part.startswith("node") else len(links)
        if rows is not None and len(rows) != wanted:
            raise FormatError(f"[graphs] {name}_{part}.txt has {len(rows)} rows: expected {wanted}")
    starts = np.searchsorted(owner, np.arange(count + 1))
    links = links - 1
    of_link = owner[links[:, 0]]
    if (of_link != owner[links[:, 1]]).any():
        raise FormatError(f"[graphs] {name}_A.txt links nodes of different graphs")
    order = np.argsort(of_link, kind="stable")
    bounds = np.searchsorted(of_link[order], np.arange(count + 1))
    graphs = []
    for i in range(count):
        mine = order[bounds[i] : bounds[i + 1]]
        nodes = slice(int(starts[i]), int(starts[i + 1]))
        parts = {part: None if rows is None else rows[nodes if part.startswith("node") else mine] for part, rows in tables.items()}
        for part in ("node_labels", "edge_labels"):
            rows = parts[part]
            if rows is not None and rows.shape[1] == 1:
                parts[part] = rows[:, 0]
        y = targets[i, 0].item()
        graphs.append(SmallGraph(np.ascontiguousarray((links[mine] - starts[i]).T), y, int(starts[i + 1] - starts[i]), **parts))
    return graphs


def _whole(word: str, line: int) -> int:
    try:
        value = int(word)
    except ValueError:
        raise FormatError(f"[graphs] line {line} has {word[:20]!r} where an integer is expected") from None
    if not -(2**63) <= value < 2**63:
        raise FormatError(f"[graphs] line {line} has a number of more than 64 bits")
    return value


def _real(word: str, line: int) -> float:
    try:
        return float(word)
    except ValueError:
        raise FormatError(f"[graphs] line {line} has {word[:20]!r} where a number should be") from None


def _table(path: Path, dtype: type) -> np.ndarray:
    rows = [line.replace(",", " ").split() for line in read_text(path, "graphs").splitlines() if line.strip()]
    if len({len(row) for row in rows}) > 1:
        raise FormatError(f"[graphs] the lines of {path.name} differ in length")
    convert = _whole if dtype is np.int64 else _real
    return np.array([[convert(word, i + 1) for word in row] for i, row in enumerate(rows)], dtype).reshape(len(rows), -1 if rows else 1)
