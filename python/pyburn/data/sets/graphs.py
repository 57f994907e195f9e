"""Graph data sets: Cora and Citeseer, MUTAG and PROTEINS. Samples are `pyburn.nn.geometric.Data`, which `Batch` combines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...nn.geometric import Data
from ...tensor import from_numpy
from ...tensor import tensor as make_tensor
from ..files import read_graph_text, read_planetoid, read_tu_folder
from ..unpack import unpack_members
from .place import Files, NamedSet, Resource, Root, raw_github, read_checksums


class CitationSet(NamedSet[Data], counted="graph"):
    """Base class of citation networks: a single graph with `x`, `y`, `edge_index`, and the standard split as `train_mask`, `val_mask`,
    `test_mask`.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        transform: Applied to the graph.
        download: Whether to download missing files.

    >>> pyburn.data.sets.Cora()[0].num_nodes  # doctest: +SKIP
    2708
    """

    name: ClassVar[str]

    def __init__(self, root: Root = None, transform: Callable[[Data], Any] | None = None, download: bool = True) -> None:
        self.transform = transform
        # From kimiyoung/planetoid at the commit below; the checksums are of the files in its tree.
        repository, commit = "kimiyoung/planetoid", "af6abf468a772cc055bec88c52e4d6f51b7c37e3"
        checksums = read_checksums(Path(__file__).with_name("planetoid.sums"))
        mine = {n: c for n, c in checksums.items() if n.startswith(f"ind.{self.name}.")}
        resources = tuple(Resource(n, raw_github(repository, commit, f"data/{n}"), c) for n, c in mine.items())
        files = Files(type(self).__name__, tuple((n,) for n in mine), ("planetoid", f"{type(self).__name__}/raw"), resources)
        graph = read_planetoid(files.locate(root, download)[0].parent, self.name)
        self.num_classes = int(graph.y.max()) + 1
        self.num_features = graph.x.shape[1]
        self._graph = Data(**{name: from_numpy(np.ascontiguousarray(value)) for name, value in graph._asdict().items()})

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        range(1)[index]  # IndexError for any index but 0
        return self._graph if self.transform is None else self.transform(self._graph)


class Cora(CitationSet):
    """The Cora citation network: 2,708 machine learning papers in 7 classes, 1,433 word features, 5,278 citations.

    >>> pyburn.data.sets.Cora()[0].num_nodes  # doctest: +SKIP
    2708
    """

    name = "cora"


class Citeseer(CitationSet):
    """The Citeseer citation network: 3,327 papers in 6 classes, 3,703 word features, 4,552 citations. Fifteen papers have no features or
    links.

    >>> pyburn.data.sets.Citeseer()[0].num_nodes  # doctest: +SKIP
    3327
    """

    name = "citeseer"


class GraphClasses(NamedSet[Data], counted="graphs"):
    """Base class of graph classification data sets: `x` is the one-hot node label (and attributes), `y` the class index.

    Both the single-file format and the folders of the TU collection (`<name>_A.txt`, ...) are read. There is no standard split.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        transform: Applied to each graph.
        download: Whether to download missing files.

    >>> len(pyburn.data.sets.MUTAG())  # doctest: +SKIP
    188
    """

    name: ClassVar[str]

    def __init__(self, root: Root = None, transform: Callable[[Data], Any] | None = None, download: bool = True) -> None:
        self.transform = transform
        name = self.name
        # From weihua916/powerful-gnns at the commit below; the git blob hash of the archive is e0ec83a.
        archive = Resource(
            "dataset.zip",
            raw_github("weihua916/powerful-gnns", "9a2ce8ac3e99278307093a464a95caf0fb04b602", "dataset.zip"),
            "git:e0ec83a65147ea685c2b12d92d336f05c4dffc7c",
        )

        def unpack(folder: Path) -> None:
            unpack_members(folder / "dataset.zip", folder, {f"dataset/{name}/{name}.txt": f"{name}.txt"}, largest=64 << 20)

        files = Files(name, ((f"{name}.txt", f"{name}_A.txt"),), ("graphs", "molecules", name, f"{name}/raw"), (archive,), unpack=unpack)
        path = files.locate(root, download)[0]
        graphs = read_tu_folder(path.parent, name) if path.name.endswith("_A.txt") else read_graph_text(path)
        classes = sorted({graph.y for graph in graphs})
        kinds = sorted({kind for graph in graphs if graph.node_labels is not None for kind in graph.node_labels.reshape(-1).tolist()})
        attributes = max((graph.node_attributes.shape[1] for graph in graphs if graph.node_attributes is not None), default=0)
        self.num_classes, self.num_features = len(classes), len(kinds) + attributes
        self._graphs = []
        for graph in graphs:
            x = np.zeros((graph.num_nodes, max(1, self.num_features)), np.float32)
            if graph.node_labels is not None:
                x[np.arange(graph.num_nodes), np.searchsorted(kinds, graph.node_labels.reshape(-1))] = 1
            if graph.node_attributes is not None:
                x[:, len(kinds) :] = graph.node_attributes
            if not self.num_features:
                x[:] = 1
            y = make_tensor([classes.index(graph.y)])
            self._graphs.append(Data(x=from_numpy(x), edge_index=from_numpy(graph.edge_index), y=y))

    def __len__(self) -> int:
        return len(self._graphs)

    def __getitem__(self, index: int) -> Any:
        graph = self._graphs[index]
        return graph if self.transform is None else self.transform(graph)


class MUTAG(GraphClasses):
    """188 molecules, classified by whether they are mutagenic to a bacterium.

    >>> len(pyburn.data.sets.MUTAG())  # doctest: +SKIP
    188
    """

    name = "MUTAG"


class PROTEINS(GraphClasses):
    """1,113 proteins, classified as enzymes or non-enzymes.

    >>> len(pyburn.data.sets.PROTEINS())  # doctest: +SKIP
    1113
    """

    name = "PROTEINS"
