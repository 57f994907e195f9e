"""A network on molecules: atoms hear what their neighbours say along bonds, then all atoms together give the answer."""

from __future__ import annotations

from collections.abc import Sequence

import pyburn
from pyburn import Tensor, nn
from pyburn.nn.graph import Batch, Data, MessagePassing, global_add_pool, global_mean_pool


class BondConv(MessagePassing):
    """A layer of GIN (Xu et al. 2019), and with features of bonds of GINE (Hu et al. 2020): what an atom hears from a neighbour depends on
    the bond between them."""

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
    """Atoms (n, atom_features) in molecules to (molecules, outputs). Every layer adds to what an atom knows; the sum and the mean over the
    atoms go to the answer, which is in units of `spread` around `centre`."""

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


class Gin(nn.Module):
    """GIN as Xu et al. (2019) have it: every layer, and the kinds of atoms themselves, give an answer by a sum over the atoms of a
    molecule; the answers are added up."""

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
    """For a DataLoader's collate_fn: graphs as one batch, and what is to be predicted."""
    batch = Batch.from_data_list(graphs)
    return batch, batch.y
