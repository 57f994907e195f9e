"""Molecules: atoms and bonds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .elements import SYMBOLS


@dataclass(slots=True)
class Atom:
    """An atom.

    Attributes:
        number: The atomic number.
        charge: The formal charge.
        hydrogens: The number of hydrogens that are not atoms of their own.
        isotope: The mass number, or 0 if it is not given.
        is_aromatic: Whether the atom is aromatic.
        chirality: The chirality as in SMILES, such as @ or @@; empty if it is not given.
        atom_class: The atom class as in SMILES.
        radicals: The number of unpaired electrons.
        chiral_order: The indices of the neighbors in the order that `chirality` refers to; -1 for an implicit hydrogen.

    >>> Atom(8, charge=-1).symbol
    'O'
    """

    number: int
    charge: int = 0
    hydrogens: int = 0
    isotope: int = 0
    is_aromatic: bool = False
    chirality: str = ""
    atom_class: int = 0
    radicals: int = 0
    # Atom indices of the neighbors in the order that `chirality` refers to; -1 for an implicit hydrogen.
    chiral_order: tuple[int, ...] = ()

    @property
    def symbol(self) -> str:
        """The element symbol."""
        return SYMBOLS[self.number]


@dataclass(slots=True)
class Bond:
    r"""A bond between two atoms.

    Attributes:
        begin: The index of the first atom.
        end: The index of the second atom.
        kekule: The bond order in the Kekule structure, 1 to 4; 0 if unknown.
        is_aromatic: Whether the bond is aromatic.
        direction: / or \ as in SMILES; empty for most bonds.
        is_dative: Whether both electrons come from the first atom.

    >>> Bond(0, 1, is_aromatic=True).order
    1.5
    """

    begin: int
    end: int
    kekule: int = 1
    is_aromatic: bool = False
    direction: str = ""
    is_dative: bool = False

    @property
    def order(self) -> float:
        """The bond order: 1.5 if aromatic."""
        return 1.5 if self.is_aromatic else float(self.kekule)

    def other(self, atom: int) -> int:
        """Returns the atom at the other end.

        Args:
            atom: The index of one of the two atoms.
        """
        return self.end if atom == self.begin else self.begin


@dataclass
class Molecule:
    """A molecule.

    Attributes:
        atoms: The atoms.
        bonds: The bonds.
        positions: The atom positions, (atoms, 3), or None.
        name: The name.
        properties: Additional properties of the file.

    >>> Molecule([Atom(6, hydrogens=3), Atom(8, hydrogens=1)], [Bond(0, 1)], name="methanol")
    Molecule(CH4O, 2 atoms, 1 bonds)
    """

    atoms: list[Atom] = field(default_factory=list)
    bonds: list[Bond] = field(default_factory=list)
    positions: np.ndarray | None = None
    name: str = ""
    properties: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.atoms)

    def __repr__(self) -> str:
        return f"Molecule({self.formula}, {len(self.atoms)} atoms, {len(self.bonds)} bonds)"

    @property
    def numbers(self) -> np.ndarray:
        """The atomic numbers."""
        return np.array([atom.number for atom in self.atoms], np.int64)

    @property
    def formula(self) -> str:
        """The molecular formula in Hill order: carbon, hydrogen, then the others alphabetically."""
        counts: dict[str, int] = {}
        for atom in self.atoms:
            counts[atom.symbol] = counts.get(atom.symbol, 0) + 1
            if atom.hydrogens:
                counts["H"] = counts.get("H", 0) + atom.hydrogens
        first = [symbol for symbol in ("C", "H") if symbol in counts] if "C" in counts else []
        order = first + sorted(symbol for symbol in counts if symbol not in first)
        return "".join(symbol + (str(counts[symbol]) if counts[symbol] > 1 else "") for symbol in order)

    @property
    def bonds_of(self) -> list[list[Bond]]:
        """The bonds of each atom."""
        found: list[list[Bond]] = [[] for _ in self.atoms]
        for bond in self.bonds:
            found[bond.begin].append(bond)
            found[bond.end].append(bond)
        return found

    @property
    def edge_index(self) -> np.ndarray:
        """The bonds as edges in both directions, (2, 2 * bonds)."""
        pairs = [(bond.begin, bond.end) for bond in self.bonds]
        return np.array([pair for begin, end in pairs for pair in ((begin, end), (end, begin))], np.int64).reshape(-1, 2).T
