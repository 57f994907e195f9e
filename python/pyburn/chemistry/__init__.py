"""Chemistry: SMILES, MOL and SDF files, molecules as graphs, data sets of measured properties, and networks for them.

>>> from pyburn import chemistry
>>> chemistry.molecule_from_smiles("CCO")
Molecule(C2H6O, 3 atoms, 2 bonds)
"""

from .graph_features import ATOM_FEATURES, BOND_FEATURES, molecule_to_graph
from .models import GIN, BondConv, MoleculeNetwork, batch_and_target
from .molecule import Atom, Bond, Molecule
from .sdf import SDFDataset, molecule_from_mol_block, read_sdf
from .sets import ESOL, FreeSolv, GDB1k, Lipophilicity, MoleculeSet, Tox21
from .smiles import molecule_from_smiles, read_smiles
from .valence import valence_problems

__all__ = [
    "ATOM_FEATURES",
    "Atom",
    "BOND_FEATURES",
    "Bond",
    "BondConv",
    "ESOL",
    "FreeSolv",
    "GDB1k",
    "GIN",
    "Lipophilicity",
    "Molecule",
    "MoleculeNetwork",
    "MoleculeSet",
    "SDFDataset",
    "Tox21",
    "batch_and_target",
    "molecule_from_mol_block",
    "molecule_from_smiles",
    "molecule_to_graph",
    "read_sdf",
    "read_smiles",
    "valence_problems",
]
