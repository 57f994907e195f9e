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
from .place import Files, NamedSet, Resource, Root, raw_github

_PARTS = ("allx", "ally", "graph", "test.index", "tx", "ty", "x", "y")


class CitationSet(NamedSet[Data], counted="graph"):
    """Base class of citation networks: a single graph with `x`, `y`, `edge_index`, and the standard split as `train_mask`, `val_mask`,
    `test_mask`.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        transform: Applied to the graph.
        download: Whether to download missing files.
    """

    name: ClassVar[str]
    checksums: ClassVar[tuple[str, ...]]

    def __init__(self, root: Root = None, transform: Callable[[Data], Any] | None = None, download: bool = True) -> None:
        self.transform = transform
        # From kimiyoung/planetoid at the commit below; the checksums are of the files in its tree.
        repository, commit = "kimiyoung/planetoid", "af6abf468a772cc055bec88c52e4d6f51b7c37e3"
        names = [f"ind.{self.name}.{part}" for part in _PARTS]
        resources = tuple(Resource(n, raw_github(repository, commit, f"data/{n}"), f"sha256:{c}") for n, c in zip(names, self.checksums))
        files = Files(type(self).__name__, tuple((n,) for n in names), ("planetoid", f"{type(self).__name__}/raw"), resources)
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
    """The Cora citation network: 2,708 machine learning papers in 7 classes, 1,433 word features, 5,278 citations."""

    name = "cora"
    checksums = (
        "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    )


class Citeseer(CitationSet):
    """The Citeseer citation network: 3,327 papers in 6 classes, 3,703 word features, 4,552 citations. Fifteen papers have no features or
    links.
    """

    name = "citeseer"
    checksums = (
        "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    )


class GraphClasses(NamedSet[Data], counted="graphs"):
    """Base class of graph classification data sets: `x` is the one-hot node label (and attributes), `y` the class index.

    Both the single-file format and the folders of the TU collection (`<name>_A.txt`, ...) are read. There is no standard split.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        transform: Applied to each graph.
        download: Whether to download missing files.
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
    """188 molecules, classified by whether they are mutagenic to a bacterium."""

    name = "MUTAG"


class PROTEINS(GraphClasses):
    """1,113 proteins, classified as enzymes or non-enzymes."""

    name = "PROTEINS"
