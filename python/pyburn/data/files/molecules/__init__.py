"""Molecules: SMILES, MOL and SDF, and their conversion to graphs."""

from .graph_features import ATOM_FEATURES, BOND_FEATURES, molecule_to_graph
from .molecule import Atom, Bond, Molecule
from .sdf import SDFDataset, molecule_from_mol_block, read_sdf
from .smiles import molecule_from_smiles, read_smiles
from .valence import valence_problems

__all__ = [
    "ATOM_FEATURES",
    "BOND_FEATURES",
    "Atom",
    "Bond",
    "Molecule",
    "SDFDataset",
    "molecule_from_mol_block",
    "molecule_from_smiles",
    "molecule_to_graph",
    "read_sdf",
    "read_smiles",
    "valence_problems",
]
