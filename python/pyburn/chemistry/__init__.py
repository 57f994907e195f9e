"""Chemistry: SMILES, MOL and SDF files, molecules as graphs, data sets of measured properties, and networks for them.

>>> from pyburn import chemistry
>>> chemistry.molecule_from_smiles("CCO")
Molecule(C2H6O, 3 atoms, 2 bonds)
"""

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
