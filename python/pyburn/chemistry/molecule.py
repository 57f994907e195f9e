"""Molecules: atoms and bonds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .elements import SYMBOLS


@dataclass(slots=True)
class Atom:
    """An atom. `hydrogens` counts the hydrogens that are not atoms of their own."""

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
    r"""A bond between two atoms: `kekule` is 1 to 4 (0: unknown), `direction` is / or \ as in SMILES."""

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
        """Returns the atom at the other end."""
        return self.end if atom == self.begin else self.begin


@dataclass
class Molecule:
    """A molecule: atoms, bonds, optional positions (atoms, 3), a name, and additional properties of the file."""

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
