"""A SMILES parser. The resulting atoms and bonds are those of RDKit."""

from __future__ import annotations

import re

from ..data.files.source import File, FormatError, read_text
from .aromaticity import perceive_aromaticity
from .elements import AROMATIC, NUMBERS
from .kekule import kekulize
from .molecule import Atom, Bond, Molecule
from .rings import ring_bonds
from .valence import implied_hydrogens, normalise_charges, remove_hydrogens, set_radicals

_BRACKET = re.compile(
    r"\[(?P<isotope>\d+)?(?P<symbol>\*|[A-Z][a-z]?|[a-z][a-z]?|\#\d+)(?P<chirality>@@?(?:TH[12]|AL[12]|SP[123]|TB\d{1,2}|OH\d{1,2})?)?"
    r"(?P<hydrogens>H\d*)?(?P<charge>\+\+*\d*|-+\d*)?(?::(?P<label>\d+))?\]"
)
_BARE = re.compile(r"Cl|Br|[BCNOPSFI]|[bcnops]|\*")
_RING = re.compile(r"\d|%\d\d|%\(\d{1,5}\)")
_ORDERS = {"-": 1, "=": 2, "#": 3, "$": 4, ":": 1, "/": 1, "\\": 1, "~": 0}
_LONGEST = 100_000


def molecule_from_smiles(smiles: str, keep_hydrogens: bool = False, perceive: bool = True) -> Molecule:
    """Parses a SMILES string; text after a space is the name of the molecule.

    Args:
        smiles: The string.
        keep_hydrogens: Whether explicit hydrogens stay atoms; otherwise they are counted at their neighbors.
        perceive: Whether to perceive aromaticity, so that c1ccccc1 and C1=CC=CC=C1 give the same flags; otherwise the flags are those of
            the string.

    Returns:
        The molecule.

    Raises:
        FormatError: The string is not valid SMILES.

    >>> molecule_from_smiles("OC(=O)c1ccccc1")
    Molecule(C7H6O2, 9 atoms, 9 bonds)
    """
    text, _, name = smiles.strip().partition(" ")
    if len(text) > _LONGEST:
        raise FormatError(f"[smiles] the text has {len(text)} characters: at most {_LONGEST} are read")
    parser = _Parser(text)
    molecule = parser.run()
    written_out = [atom for atom, bare in zip(molecule.atoms, parser.bare) if not bare]
    molecule.name = name.strip()
    if not keep_hydrogens:
        remove_hydrogens(molecule)
    in_ring = ring_bonds(molecule)
    if any(atom.is_aromatic for atom in molecule.atoms):
        kekulize(molecule, in_ring)
    set_radicals(molecule, written_out)
    if perceive:
        perceive_aromaticity(molecule, in_ring)
    return molecule


def read_smiles(file: File, keep_hydrogens: bool = False, perceive: bool = True) -> list[Molecule]:
    r"""Reads a file with one SMILES string per line, optionally followed by a name; empty lines are skipped.

    Args:
        file: A path, bytes or an open binary file.
        keep_hydrogens: Whether explicit hydrogens stay atoms; otherwise they are counted at their neighbors.
        perceive: Whether to perceive aromaticity.

    Returns:
        The molecules, in order.

    Raises:
        FormatError: A line is not valid SMILES.

    >>> [molecule.name for molecule in read_smiles(b"CCO ethanol\nCC ethane\n")]
    ['ethanol', 'ethane']
    """
    molecules = []
    for number, line in enumerate(read_text(file, "smiles").splitlines(), 1):
        if line.strip():
            try:
                molecules.append(molecule_from_smiles(line.replace("\t", " "), keep_hydrogens, perceive))
            except FormatError as error:
                raise FormatError(f"{error} (line {number})") from None
    return molecules


class _Parser:
    """Parses a SMILES string from left to right, following the OpenSMILES grammar."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.molecule = Molecule()
        self.bare: list[bool] = []
        self.links: list[list[int | None]] = []  # neighbors as written; None is a placeholder for an open ring
        self.open_rings: dict[str, tuple[int, str, int]] = {}
        self.bonded: set[tuple[int, int]] = set()

    def fail(self, message: str) -> FormatError:
        return FormatError(f"[smiles] {message} at character {self.at + 1} of {self.text[:60]!r}")

    def run(self) -> Molecule:
        branches: list[int | None] = []
        previous: int | None = None
        bond = ""
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in "-=#$:/\\~":
                if bond or previous is None:
                    raise self.fail(f"the bond {letter!r} has no atom before it")
                arrow = self.text[self.at : self.at + 2]
                bond = arrow if arrow == "->" else letter
                self.at += len(bond)
            elif letter == "<":
                if self.text[self.at : self.at + 2] != "<-" or bond or previous is None:
                    raise self.fail(f"unexpected {letter!r}")
                bond = "<-"
                self.at += 2
            elif letter == "(":
                if previous is None or bond:
                    raise self.fail("a branch begins where no atom is")
                branches.append(previous)
                self.at += 1
            elif letter == ")":
                if not branches or bond:
                    raise self.fail("a branch ends that has not begun" if not bond else "a bond leads nowhere")
                previous = branches.pop()
                self.at += 1
            elif letter == ".":
                if bond:
                    raise self.fail("a bond leads nowhere")
                previous = None
                self.at += 1
            elif letter.isdigit() or letter == "%":
                if previous is None:
                    raise self.fail("a ring is closed where no atom is")
                self.ring(previous, bond)
                bond = ""
            else:
                atom = self.atom()
                if previous is not None:
                    self.connect(previous, atom, bond)
                    self.links[previous].append(atom)
                    self.links[atom].insert(0, previous)
                previous, bond = atom, ""
        if branches or bond or self.open_rings:
            open_ring = next(iter(self.open_rings), None)
            raise self.fail(
                "a branch is not closed" if branches else "a bond leads nowhere" if bond else f"the ring {open_ring} is not closed"
            )
        self.finish()
        return self.molecule

    def atom(self) -> int:
        if self.text[self.at] == "[":
            return self.bracket_atom()
        found = _BARE.match(self.text, self.at)
        if not found:
            raise self.fail(f"unexpected {self.text[self.at]!r}")
        self.at = found.end()
        symbol = found.group()
        return self.add(Atom(NUMBERS[symbol.capitalize()], is_aromatic=symbol.islower()), symbol != "*")

    def bracket_atom(self) -> int:
        found = _BRACKET.match(self.text, self.at)
        if not found:
            raise self.fail("an atom in brackets cannot be read")
        symbol = found["symbol"]
        aromatic = symbol.islower() and symbol != "*"
        if aromatic and symbol not in AROMATIC:
            raise self.fail(f"{symbol!r} cannot be aromatic")
        number = int(symbol[1:]) if symbol[0] == "#" else NUMBERS.get(symbol.capitalize() if aromatic else symbol, -1)
        if not 0 <= number <= 118:
            raise self.fail(f"there is no element {symbol!r}")
        hydrogens, charge = found["hydrogens"] or "", found["charge"] or ""
        size = charge.lstrip("+-")
        amount = int(size[:3]) if size else len(charge)
        count = int(hydrogens[1:4] or 1) if hydrogens else 0
        isotope, label = int((found["isotope"] or "0")[:6]), int((found["label"] or "0")[:9])
        if amount > 15 or count > 9 or isotope > 999:
            raise self.fail(f"{found.group()[:40]} is beyond what atoms have")
        self.at = found.end()
        return self.add(
            Atom(number, -amount if charge.startswith("-") else amount, count, isotope, aromatic, found["chirality"] or "", label), False
        )

    def add(self, atom: Atom, bare: bool) -> int:
        self.molecule.atoms.append(atom)
        self.bare.append(bare)
        # A hydrogen in brackets comes directly after the preceding atom.
        self.links.append([-1] if atom.hydrogens and atom.chirality else [])
        return len(self.molecule.atoms) - 1

    def ring(self, atom: int, bond: str) -> None:
        found = _RING.match(self.text, self.at)
        if not found:
            raise self.fail("the number of a ring cannot be read")
        key = found.group().strip("%()").lstrip("0") or "0"
        self.at = found.end()
        if key not in self.open_rings:
            self.links[atom].append(None)
            self.open_rings[key] = (atom, bond, len(self.links[atom]) - 1)
            return
        first, before, slot = self.open_rings.pop(key)
        if before and bond and _ORDERS.get(before) != _ORDERS.get(bond):
            raise self.fail(f"the ring {key} is opened with {before!r} and closed with {bond!r}")
        self.links[first][slot] = atom
        self.links[atom].append(first)
        self.connect(first, atom, before or bond)

    def connect(self, begin: int, end: int, symbol: str) -> None:
        if begin == end or (min(begin, end), max(begin, end)) in self.bonded:
            raise self.fail("two atoms are bound twice, or one to itself")
        self.bonded.add((min(begin, end), max(begin, end)))
        if symbol in ("->", "<-"):
            self.molecule.bonds.append(Bond(begin, end, is_dative=True) if symbol == "->" else Bond(end, begin, is_dative=True))
            return
        both = self.molecule.atoms[begin].is_aromatic and self.molecule.atoms[end].is_aromatic
        aromatic = symbol == ":" or (symbol in ("", "/", "\\") and both)
        direction = symbol if symbol in ("/", "\\") else ""
        self.molecule.bonds.append(Bond(begin, end, _ORDERS.get(symbol, 1), aromatic, direction))

    def finish(self) -> None:
        """Sets hydrogens, charges and the order of neighbors, once all bonds are known."""
        molecule = self.molecule
        normalise_charges(molecule)
        bonds_of = molecule.bonds_of
        for index, atom in enumerate(molecule.atoms):
            if self.bare[index] and not atom.charge:
                atom.hydrogens = implied_hydrogens(molecule, index, [bond for bond in bonds_of[index] if not bond.is_dative])
            if atom.chirality:
                atom.chiral_order = tuple(-1 if other is None else other for other in self.links[index])
