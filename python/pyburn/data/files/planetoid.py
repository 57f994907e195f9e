"""Planetoid: the citation graphs Cora, Citeseer and PubMed with their standard split, as eight files each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .pickled_arrays import SparseRows, read_pickled_arrays
from .source import FormatError

# Maximum bytes of the feature matrix; the largest data set, PubMed, needs 40 MB.
_LARGEST = 2**30


class CitationGraph(NamedTuple):
    """A citation graph: features, classes, links in both directions, and the masks of the split.

    >>> pyburn.data.files.read_planetoid("data", "cora").x.shape  # doctest: +SKIP
    (2708, 1433)
    """

    x: np.ndarray
    y: np.ndarray
    edge_index: np.ndarray
    train_mask: np.ndarray
    val_mask: np.ndarray
    test_mask: np.ndarray


def read_planetoid(folder: str | os.PathLike[str], name: str) -> CitationGraph:
    """Reads the graph of `ind.<name>.*` in a folder, with the standard split: 20 training papers per class, 500 for validation, 1000 for
    testing.

    Args:
        folder: The folder.
        name: The name of the graph, such as "cora".

    Returns:
        The graph.

    Raises:
        FormatError: A file is damaged.

    >>> graph = pyburn.data.files.read_planetoid("data", "cora")  # doctest: +SKIP
    """
    parts = {part: read_pickled_arrays(Path(folder) / f"ind.{name}.{part}") for part in ("x", "y", "tx", "ty", "allx", "ally", "graph")}
    sparse = {part: _checked(parts[part], part, SparseRows) for part in ("x", "tx", "allx")}
    labels = {part: _checked(parts[part], part, np.ndarray) for part in ("y", "ty", "ally")}
    graph = _checked(parts["graph"], "graph", dict)
    test = _test_indices(Path(folder) / f"ind.{name}.test.index")
    known, width, classes = sparse["allx"].shape[0], sparse["allx"].shape[1], labels["ally"].shape[-1]
    if (
        len(test) != sparse["tx"].shape[0]
        or len({matrix.shape[1] for matrix in sparse.values()}) != 1
        or any(part.ndim != 2 or part.shape[1] != classes for part in labels.values())
        or labels["ally"].shape[0] != known
        or labels["ty"].shape[0] != len(test)
        or sparse["x"].shape[0] > known
        or len(test) == 0
        or test.min() < known
    ):
        raise FormatError(f"[planetoid] the files of {name} do not match")
    # Test papers are stored in the order of the index; in Citeseer, fifteen of the index range have no features and no class.
    count = int(test.max()) + 1
    if count > known + 10 * len(test) or count * width * 4 > _LARGEST:
        raise FormatError(f"[planetoid] {name} claims {count} papers of {width} features, of which {known + len(test)} are there")
    x = np.zeros((count, width), np.float32)
    x[:known] = sparse["allx"].dense()
    x[test] = sparse["tx"].dense()
    one_hot = np.zeros((count, classes), np.float32)
    one_hot[:known] = labels["ally"]
    one_hot[test] = labels["ty"]
    train = sparse["x"].shape[0]
    masks = np.zeros((3, count), bool)
    masks[0, :train] = True
    masks[1, train : train + 500] = True
    masks[2, test] = True
    return CitationGraph(x, one_hot.argmax(1).astype(np.int64), _links(graph, count), *masks)


def _checked(value: Any, part: str, kind: type) -> Any:
    if not isinstance(value, kind):
        raise FormatError(f"[planetoid] the file .{part} contains a {type(value).__name__}")
    return value


def _test_indices(path: Path) -> np.ndarray:
    try:
        return np.array([int(line) for line in path.read_bytes().split()], np.int64)
    except (ValueError, OverflowError):
        raise FormatError(f"[planetoid] {path.name} is not a list of numbers") from None


def _links(graph: dict[Any, Any], count: int) -> np.ndarray:
    """Returns each link once per direction, sorted by target, without self-loops."""
    ends: list[tuple[int, int]] = []
    for source, targets in graph.items():
        if not isinstance(targets, list):
            raise FormatError("[planetoid] the graph is not a dict of lists")
        ends.extend((source, target) for target in targets)
    if not all(isinstance(end, int) and 0 <= end < count for pair in ends for end in pair):
        raise FormatError(f"[planetoid] the graph links papers that are not there: expected numbers below {count}")
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    both = np.concatenate([pairs, pairs[:, ::-1]])
    keys = np.unique(both[:, 0] * count + both[:, 1])
    return np.stack([keys % count, keys // count])
