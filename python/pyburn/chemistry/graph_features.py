"""Conversion of molecules to graphs with atom and bond features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..nn.geometric import Data
from ..tensor import from_numpy
from .molecule import Molecule
from .rings import ring_bonds

_ELEMENTS = (6, 7, 8, 9, 15, 16, 17, 35, 53)
ATOM_FEATURES = [
    *("C", "N", "O", "F", "P", "S", "Cl", "Br", "I", "other element"),
    *(f"{n} neighbours" for n in range(6)),
    *(f"{n} hydrogens" for n in range(5)),
    *("charge", "aromatic", "in a ring", "chiral", "unpaired electrons"),
]
BOND_FEATURES = ["single", "double", "triple", "aromatic", "in a ring", "direction"]


def molecule_to_graph(molecule: Molecule, **more: Any) -> Data:
    """Converts a molecule to a graph.

    Args:
        molecule: The molecule.
        **more: Additional attributes of the graph, such as `y`.

    Returns:
        A graph with atom features `x` (ATOM_FEATURES), bonds in both directions `edge_index`, their features `edge_attr` (BOND_FEATURES),
        and positions `pos` if known.

    >>> graph = molecule_to_graph(pyburn.chemistry.molecule_from_smiles("CCO"))
    >>> graph.x.shape, graph.edge_index.tolist()
    (pyburn.Size([3, 26]), [[0, 1, 1, 2], [1, 0, 2, 1]])
    """
    in_ring = ring_bonds(molecule)
    ring_atoms = {end for bond, ring in zip(molecule.bonds, in_ring) if ring for end in (bond.begin, bond.end)}
    x = np.zeros((len(molecule), len(ATOM_FEATURES)), np.float32)
    for i, (atom, bonds) in enumerate(zip(molecule.atoms, molecule.bonds_of)):
        x[i, _ELEMENTS.index(atom.number) if atom.number in _ELEMENTS else 9] = 1
        x[i, 10 + min(len(bonds), 5)] = 1
        x[i, 16 + min(atom.hydrogens, 4)] = 1
        x[i, 21:] = atom.charge, atom.is_aromatic, i in ring_atoms, bool(atom.chirality), atom.radicals
    attributes = np.zeros((2 * len(molecule.bonds), len(BOND_FEATURES)), np.float32)
    for i, (bond, ring) in enumerate(zip(molecule.bonds, in_ring)):
        kind = 3 if bond.is_aromatic else min(max(bond.kekule, 1), 3) - 1
        attributes[2 * i : 2 * i + 2, kind] = 1
        attributes[2 * i : 2 * i + 2, 4:] = ring, bool(bond.direction)
    if molecule.positions is not None:
        more.setdefault("pos", from_numpy(molecule.positions.astype(np.float32)))
    edges = np.ascontiguousarray(molecule.edge_index)
    return Data(x=from_numpy(x), edge_index=from_numpy(edges), edge_attr=from_numpy(attributes), **more)
