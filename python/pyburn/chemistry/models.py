"""Message-passing networks on molecules: property prediction from the graph of atoms and bonds."""

from __future__ import annotations

from collections.abc import Sequence

import pyburn
from pyburn import Tensor, nn
from pyburn.nn.geometric import Batch, Data, MessagePassing, global_add_pool, global_mean_pool


class BondConv(MessagePassing):
    """Message passing along bonds: GIN (Xu et al. 2019), or GINE (Hu et al. 2020) if there are bond features.

    Args:
        width: Features per atom.
        bond_features: Features per bond; 0 ignores bonds.
        output: Output features per atom; `width` by default.

    >>> graph = pyburn.chemistry.molecule_to_graph(pyburn.chemistry.molecule_from_smiles("CCO"))
    >>> BondConv(26, 6)(graph.x, graph.edge_index, graph.edge_attr).shape
    pyburn.Size([3, 26])
    """

    def __init__(self, width: int, bond_features: int, output: int | None = None) -> None:
        super().__init__(aggr="add")
        inner, output = (2 * width, width) if output is None else (output, output)
        self.bond = nn.Linear(bond_features, width) if bond_features else None
        self.combine = nn.Sequential(nn.Linear(width, inner), nn.BatchNorm1d(inner), nn.ReLU(), nn.Linear(inner, output))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> Tensor:
        return self.combine(x + self.propagate(edge_index, x=x, edge_attr=edge_attr))

    def message(self, x_j: Tensor, edge_attr: Tensor | None) -> Tensor:  # type: ignore[override]
        return x_j if self.bond is None or edge_attr is None else (x_j + self.bond(edge_attr)).relu()


class MoleculeNetwork(nn.Module):
    """Predicts properties of molecules, (molecules, outputs): residual message passing, then a readout of the sum and the mean over atoms.

    Args:
        atom_features: Features per atom, such as `len(ATOM_FEATURES)`.
        bond_features: Features per bond; 0 ignores bonds.
        outputs: The number of properties.
        width: Hidden features per atom.
        layers: Message-passing layers.
        dropout: Dropout probability before the output.
        centre: The mean of the targets.
        spread: The standard deviation of the targets: outputs are scaled by it.

    >>> from pyburn.chemistry import molecule_from_smiles, molecule_to_graph
    >>> batch = Batch.from_data_list([molecule_to_graph(molecule_from_smiles(text)) for text in ("CCO", "c1ccccc1")])
    >>> MoleculeNetwork(26, 6, 1)(batch).shape
    pyburn.Size([2, 1])
    """

    def __init__(
        self,
        atom_features: int,
        bond_features: int,
        outputs: int,
        width: int = 64,
        layers: int = 4,
        dropout: float = 0.0,
        centre: float = 0.0,
        spread: float = 1.0,
    ) -> None:
        super().__init__()
        self.atom = nn.Linear(atom_features, width)
        self.convs = nn.ModuleList([BondConv(width, bond_features) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(width) for _ in range(layers)])
        self.answer = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, outputs))
        self.centre, self.spread = centre, spread

    def forward(self, molecules: Batch) -> Tensor:
        x = self.atom(molecules.x)
        for conv, norm in zip(self.convs, self.norms):
            x = x + norm(conv(x, molecules.edge_index, molecules.edge_attr)).relu()
        whole = [pool(x, molecules.batch, molecules.num_graphs) for pool in (global_add_pool, global_mean_pool)]
        return self.answer(pyburn.cat([whole[0] / 10, whole[1]], 1)) * self.spread + self.centre


class GIN(nn.Module):
    """GIN as in Xu et al. (2019): the sum over atoms after each layer has its own classifier, and their outputs are added.

    Args:
        atom_features: Features per atom.
        outputs: The number of classes.
        width: Hidden features per atom.
        layers: Message-passing layers.
        dropout: Dropout probability of each classifier's output.

    >>> from pyburn.chemistry import molecule_from_smiles, molecule_to_graph
    >>> batch = Batch.from_data_list([molecule_to_graph(molecule_from_smiles(text)) for text in ("CCO", "c1ccccc1")])
    >>> GIN(26, 2)(batch).shape
    pyburn.Size([2, 2])
    """

    def __init__(self, atom_features: int, outputs: int, width: int = 32, layers: int = 4, dropout: float = 0.5) -> None:
        super().__init__()
        widths = [atom_features] + [width] * layers
        self.convs = nn.ModuleList([BondConv(into, 0, out) for into, out in zip(widths, widths[1:])])
        self.norms = nn.ModuleList([nn.BatchNorm1d(width) for _ in range(layers)])
        self.answers = nn.ModuleList([nn.Linear(size, outputs) for size in widths])
        self.dropout = nn.Dropout(dropout)

    def forward(self, molecules: Batch) -> Tensor:
        known = [molecules.x]
        for conv, norm in zip(self.convs, self.norms):
            known.append(norm(conv(known[-1], molecules.edge_index, None)).relu())
        pooled = [global_add_pool(x, molecules.batch, molecules.num_graphs) for x in known]
        return sum(self.dropout(answer(whole)) for answer, whole in zip(self.answers, pooled))  # type: ignore[return-value]


def batch_and_target(graphs: Sequence[Data]) -> tuple[Batch, Tensor]:
    """Collates graphs to one batch and its targets; for the argument `collate_fn` of DataLoader.

    Args:
        graphs: The graphs, each with targets `y`.

    Returns:
        The batch, and the targets of all graphs.

    >>> from pyburn.chemistry import molecule_from_smiles, molecule_to_graph
    >>> graphs = [molecule_to_graph(molecule_from_smiles(text), y=pyburn.zeros(1, 1)) for text in ("CCO", "CC")]
    >>> batch, targets = batch_and_target(graphs)
    >>> batch.num_graphs, targets.shape
    (2, pyburn.Size([2, 1]))
    """
    batch = Batch.from_data_list(graphs)
    return batch, batch.y
