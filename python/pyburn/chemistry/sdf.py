"""MOL and SDF: molecules with coordinates, in the V2000 and V3000 formats."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..data.dataset import Dataset
from ..data.files.source import File, FormatError, read_text
from .aromaticity import perceive_aromaticity
from .elements import NUMBERS, VALENCES
from .kekule import kekulize
from .molecule import Atom, Bond, Molecule
from .rings import ring_bonds
from .valence import implied_hydrogens, normalise_charges, remove_hydrogens

_CHARGES = {0: 0, 1: 3, 2: 2, 3: 1, 4: 0, 5: -1, 6: -2, 7: -3}
_NONMETALS = (5, 6, 7, 8, 9, 14, 15, 16, 17, 33, 34, 35, 52, 53)
_MOST_ATOMS = 1_000_000


def read_sdf(file: File, keep_hydrogens: bool = True, perceive: bool = True) -> list[Molecule]:
    r"""Reads all molecules of an SDF file, with data fields as `properties`.

    Args:
        file: A path, bytes or an open binary file.
        keep_hydrogens: Whether explicit hydrogens stay atoms.
        perceive: Whether to perceive aromaticity.

    Returns:
        The molecules, in order.

    Raises:
        FormatError: The file is damaged.

    >>> water = "water\n\n\n  1  0  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 O   0  0\nM  END\n$$$$\n"
    >>> read_sdf(water.encode())
    [Molecule(H2O, 1 atoms, 0 bonds)]
    """
    return list(iterate_sdf(read_text(file, "sdf", "latin-1"), keep_hydrogens, perceive))


def iterate_sdf(text: str, keep_hydrogens: bool = True, perceive: bool = True) -> Iterator[Molecule]:
    """Yields the molecules of an SDF text; arguments as for `read_sdf`."""
    for number, record in enumerate(_records(text)):
        try:
            yield molecule_from_mol_block(record, keep_hydrogens, perceive)
        except FormatError as error:
            raise FormatError(f"{error} (molecule {number})") from None


class SDFDataset(Dataset[Molecule]):
    r"""The molecules of an SDF file, parsed on access.

    Args:
        file: A path, bytes or an open binary file.
        keep_hydrogens: Whether explicit hydrogens stay atoms.
        perceive: Whether to perceive aromaticity.

    >>> water = "water\n\n\n  1  0  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 O   0  0\nM  END\n$$$$\n"
    >>> molecules = SDFDataset(water.encode())
    >>> len(molecules), molecules[0].name
    (1, 'water')
    """

    def __init__(self, file: File, keep_hydrogens: bool = True, perceive: bool = True) -> None:
        self._records = _records(read_text(file, "sdf", "latin-1"))
        self._options = keep_hydrogens, perceive

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> Molecule:
        return molecule_from_mol_block(self._records[index], *self._options)


def _records(text: str) -> list[str]:
    parts = text.replace("\r\n", "\n").split("\n$$$$")
    records = [part.split("\n", 1)[1] if i and "\n" in part else "" if i else part for i, part in enumerate(parts)]
    return [record for record in records if record.strip()]


def molecule_from_mol_block(text: str, keep_hydrogens: bool = True, perceive: bool = True) -> Molecule:
    r"""Parses a MOL file, or one record of an SDF file.

    Args:
        text: The text of the file or record.
        keep_hydrogens: Whether explicit hydrogens stay atoms.
        perceive: Whether to perceive aromaticity.

    Returns:
        The molecule.

    Raises:
        FormatError: The text is damaged.

    >>> molecule_from_mol_block("water\n\n\n  1  0  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 O   0  0\nM  END\n")
    Molecule(H2O, 1 atoms, 0 bonds)
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) < 4:
        raise FormatError(f"[sdf] a molecule has {len(lines)} lines, fewer than its header")
    molecule = _v3000(lines) if "V3000" in lines[3] else _v2000(lines)
    molecule.name = lines[0].strip()
    molecule.properties = _properties(lines)
    normalise_charges(molecule)
    for atom, bonds, index in zip(molecule.atoms, molecule.bonds_of, range(len(molecule))):
        atom.is_aromatic = any(bond.is_aromatic for bond in bonds)
        if atom.number in _NONMETALS:
            atom.hydrogens = max(0, _implied(molecule, index, bonds) - atom.radicals)
    if not keep_hydrogens:
        remove_hydrogens(molecule)
    in_ring = ring_bonds(molecule)
    if any(bond.is_aromatic for bond in molecule.bonds):
        kekulize(molecule, in_ring)
    if perceive:
        perceive_aromaticity(molecule, in_ring)
    return molecule


def _implied(molecule: Molecule, index: int, bonds: list[Bond]) -> int:
    """Returns the implicit hydrogens. A charged atom has the valence of the isoelectronic element: [N+] that of carbon."""
    atom = molecule.atoms[index]
    like = atom.number - atom.charge
    if like == atom.number:
        return implied_hydrogens(molecule, index, bonds)
    used = sum(bond.order for bond in bonds)
    return next((int(valence - used) for valence in VALENCES.get(like, ()) if valence >= used), 0)


def _v2000(lines: list[str]) -> Molecule:
    counts = lines[3]
    atoms, bonds = _whole(counts[:3], "number of atoms"), _whole(counts[3:6], "number of bonds")
    if atoms < 0 or bonds < 0 or 4 + atoms + bonds > len(lines):
        raise FormatError(f"[sdf] {atoms} atoms and {bonds} bonds are claimed in {len(lines)} lines")
    molecule = Molecule()
    places = []
    for line in lines[4 : 4 + atoms]:
        places.append([_real(line[at : at + 10], "coordinate") for at in (0, 10, 20)])
        isotope_shift = _whole(line[34:36], "mass") if line[34:36].strip() else 0
        charge = _whole(line[36:39], "charge") if line[36:39].strip() else 0
        atom = _atom(line[31:34].strip())
        atom.charge = _CHARGES.get(charge, 0)
        atom.radicals = 1 if charge == 4 else 0
        if isotope_shift and not atom.isotope:
            # The field is a difference from the standard atomic mass; only M  ISO lines are exact.
            atom.isotope = max(0, round(_TYPICAL_MASS.get(atom.number, 2 * atom.number)) + isotope_shift)
        molecule.atoms.append(atom)
    for line in lines[4 + atoms : 4 + atoms + bonds]:
        ends = [_whole(line[at : at + 3], "atom of a bond") for at in (0, 3)]
        _add_bond(molecule, ends[0], ends[1], _whole(line[6:9], "type of a bond"))
    molecule.positions = np.array(places, np.float64).reshape(-1, 3)
    _apply_m_lines(molecule, lines[4 + atoms + bonds :])
    return molecule


def _apply_m_lines(molecule: Molecule, lines: list[str]) -> None:
    fresh = True
    for line in lines:
        if line.startswith("M  END"):
            return
        kind = line[3:6]
        if not line.startswith("M  ") or kind not in ("CHG", "ISO", "RAD"):
            continue
        words = [_whole(word, "line M") for word in line[6:].split()]
        if not words or len(words) != 1 + 2 * words[0]:
            raise FormatError(f"[sdf] the line {line.strip()[:40]!r} has another length than it claims")
        if kind != "ISO" and fresh:  # these lines replace the values of the atom block
            fresh = False
            for atom in molecule.atoms:
                atom.charge = atom.radicals = 0
        for index, value in zip(words[1::2], words[2::2]):
            if not 1 <= index <= len(molecule.atoms) or not -999 <= value <= 999:
                raise FormatError(f"[sdf] the line {line.strip()[:40]!r} names an atom that is not there")
            atom = molecule.atoms[index - 1]
            if kind == "CHG":
                atom.charge = value
            elif kind == "ISO":
                atom.isotope = value
            else:
                atom.radicals = {1: 2, 2: 1, 3: 2}.get(value, 0)


def _v3000(lines: list[str]) -> Molecule:
    body = _joined_v30(lines)
    molecule = Molecule()
    places: list[list[float]] = []
    number_of: dict[str, int] = {}
    section = ""
    counts: tuple[int, int] | None = None
    for line in body:
        words = line.split()
        if words[:1] == ["COUNTS"] and counts is None:
            if len(words) < 3:
                raise FormatError(f"[sdf] the line {line[:40]!r} has no numbers of atoms and bonds")
            counts = _whole(words[1], "number of atoms"), _whole(words[2], "number of bonds")
        elif words[:1] == ["BEGIN"]:
            section = words[1] if len(words) > 1 else ""
        elif words[:1] == ["END"]:
            section = ""
        elif section == "ATOM":
            if len(words) < 6:
                raise FormatError(f"[sdf] the line {line[:40]!r} is no atom")
            atom = _atom(words[1])
            places.append([_real(word, "coordinate") for word in words[2:5]])
            for name, _, value in (word.partition("=") for word in words[6:]):
                if name == "CHG":
                    atom.charge = _whole(value, "charge")
                elif name == "MASS":
                    atom.isotope = _whole(value, "mass")
                elif name == "RAD":
                    atom.radicals = {1: 2, 2: 1, 3: 2}.get(_whole(value, "radical"), 0)
            if number_of.setdefault(words[0], len(molecule.atoms) + 1) != len(molecule.atoms) + 1:
                raise FormatError(f"[sdf] two atoms have the number {words[0][:20]!r}")
            molecule.atoms.append(atom)
        elif section == "BOND":
            if len(words) < 4:
                raise FormatError(f"[sdf] the line {line[:40]!r} is no bond")
            _add_bond(molecule, number_of.get(words[2], 0), number_of.get(words[3], 0), _whole(words[1], "type of a bond"))
    if counts is not None and counts != (len(molecule.atoms), len(molecule.bonds)):
        raise FormatError(
            f"[sdf] {counts[0]} atoms and {counts[1]} bonds are claimed: got {len(molecule.atoms)} atoms and {len(molecule.bonds)} bonds"
        )
    molecule.positions = np.array(places, np.float64).reshape(-1, 3)
    return molecule


def _joined_v30(lines: list[str]) -> list[str]:
    """Returns the content after 'M  V30 ', with lines that end in '-' joined to the next."""
    joined: list[str] = []
    parts: list[str] = []
    for line in lines:
        if line.startswith("M  END"):
            break
        if not line.startswith("M  V30 "):
            continue
        text = line[7:].rstrip()
        parts.append(text.removesuffix("-"))
        if not text.endswith("-"):
            joined.append(" ".join(parts))
            parts = []
    if parts:
        joined.append(" ".join(parts))
    return joined


def _atom(symbol: str) -> Atom:
    if symbol in ("D", "T"):
        return Atom(1, isotope=2 if symbol == "D" else 3)
    if symbol in ("A", "Q", "L", "LP", "R", "R#", "X", "*"):
        return Atom(0)
    if symbol not in NUMBERS:
        raise FormatError(f"[sdf] there is no element {symbol[:10]!r}")
    return Atom(NUMBERS[symbol])


def _add_bond(molecule: Molecule, begin: int, end: int, kind: int) -> None:
    count = len(molecule.atoms)
    if not (1 <= begin <= count and 1 <= end <= count) or begin == end:
        raise FormatError(f"[sdf] a bond is between the atoms {begin} and {end} of {count}")
    if kind not in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9):
        raise FormatError(f"[sdf] a bond has the type {kind}")
    order = {2: 2, 3: 3, 0: 0, 8: 0}.get(kind, 1)
    molecule.bonds.append(Bond(begin - 1, end - 1, order, is_aromatic=kind == 4, is_dative=kind == 9))


def _properties(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = None
    values: list[str] = []
    for line in lines:
        if line.startswith(">") and "<" in line and ">" in line[line.index("<") :]:
            if name is not None:
                found[name] = "\n".join(values).strip("\n")
            start = line.index("<") + 1
            name, values = line[start : line.index(">", start)], []
        elif name is not None:
            values.append(line)
    if name is not None:
        found[name] = "\n".join(values).strip("\n")
    return found


def _whole(text: str, what: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise FormatError(f"[sdf] the {what} is {text.strip()[:20]!r}: expected an integer") from None
    if abs(value) > _MOST_ATOMS:
        raise FormatError(f"[sdf] the {what} is {value}")
    return value


def _real(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise FormatError(f"[sdf] a {what} is {text.strip()[:20]!r}: expected a number") from None
    if not math.isfinite(value):
        raise FormatError(f"[sdf] a {what} is {value}")
    return value


# Atomic masses, rounded, of the elements for which files give mass differences.
_TYPICAL_MASS = {1: 1, 5: 11, 6: 12, 7: 14, 8: 16, 9: 19, 14: 28, 15: 31, 16: 32, 17: 35, 35: 80, 53: 127}
