"""Implicit hydrogens, radicals, and normalization of charges."""

from __future__ import annotations

from .elements import VALENCES, outer_electrons
from .molecule import Atom, Bond, Molecule


def implied_hydrogens(molecule: Molecule, index: int, bonds: list[Bond]) -> int:
    """Returns the implicit hydrogens of an atom without brackets: as many as fill its next default valence."""
    atom = molecule.atoms[index]
    used = sum(1 if bond.is_aromatic else bond.kekule for bond in bonds)
    if atom.is_aromatic:
        # One electron goes to the ring, unless it is in an exocyclic double bond. Only the default valence applies here.
        pi = 0 if any(not bond.is_aromatic and bond.kekule >= 2 for bond in bonds) else 1
        return max(0, VALENCES[atom.number][0] - used - pi)
    return next((valence - used for valence in VALENCES[atom.number] if valence >= used), 0)


def set_radicals(molecule: Molecule, written_out: list[Atom]) -> None:
    """Counts the unpaired electrons of atoms with explicit hydrogen counts: those missing to the valence."""
    wanted = {id(atom) for atom in written_out}
    if not wanted:
        return
    for atom, bonds in zip(molecule.atoms, molecule.bonds_of):
        if id(atom) in wanted and atom.number in VALENCES:
            used = sum(bond.kekule for bond in bonds if not bond.is_dative) + atom.hydrogens
            atom.radicals = _unpaired(atom, used)
        elif id(atom) in wanted and atom.number and not bonds:
            # A metal has no default valence; without bonds, an odd number of electrons leaves one unpaired.
            atom.radicals = (atom.number - atom.charge) % 2


def _unpaired(atom: Atom, used: int) -> int:
    outer = outer_electrons(atom.number)
    missing = (2 if atom.number <= 2 else 8) - outer - used + atom.charge
    if missing < 0:
        allowed = VALENCES[atom.number]
        missing = next((v - used + atom.charge for v in allowed if v - used + atom.charge >= 0), 0) if len(allowed) > 1 else 0
    there = outer - used - atom.charge
    return min(missing, there) if there >= 0 else missing


def normalise_charges(molecule: Molecule) -> None:
    """Normalizes charge-separated groups: N(=O)=O to [N+](=O)[O-], N=N#N to N=[N+]=[N-]; Cl(=O)(=O)=O and C=P=O likewise."""
    bonds_of = molecule.bonds_of
    for index, atom in enumerate(molecule.atoms):
        if atom.charge or atom.number not in (7, 15, 17, 35, 53):
            continue
        bonds = bonds_of[index]
        used = sum(bond.kekule for bond in bonds) + (0 if atom.number == 7 else atom.hydrogens)
        if atom.number == 7:
            # An aromatic nitrogen has one more bond than the notation shows.
            used += atom.hydrogens + (1 if any(bond.is_aromatic for bond in bonds) else 0)
            if used == 5:
                _separate_nitrogen(molecule, index, bonds)
        elif atom.number == 15:
            _separate_phosphorus(molecule, index, bonds, used)
        elif used in (3, 5, 7) and all(molecule.atoms[bond.other(index)].number == 8 for bond in bonds):
            for bond in bonds:
                if bond.kekule == 2:
                    _separate(molecule, index, bond)


def _separate(molecule: Molecule, positive: int, bond: Bond) -> None:
    bond.kekule -= 1
    molecule.atoms[positive].charge += 1
    molecule.atoms[bond.other(positive)].charge -= 1


def _separate_nitrogen(molecule: Molecule, index: int, bonds: list[Bond]) -> None:
    for bond in bonds:
        other = molecule.atoms[bond.other(index)]
        if other.charge == 0 and (other.number, bond.kekule) in ((8, 2), (7, 3)):
            _separate(molecule, index, bond)
            return


def _separate_phosphorus(molecule: Molecule, index: int, bonds: list[Bond], used: int) -> None:
    if used != 5 or len(bonds) != 3:
        return
    double = [bond for bond in bonds if bond.kekule == 2]
    oxygen = [bond for bond in double if molecule.atoms[bond.other(index)].number == 8]
    partner = [bond for bond in double if molecule.atoms[bond.other(index)].number in (6, 7)]
    if len(oxygen) == 1 and len(partner) == 1 and molecule.atoms[oxygen[0].other(index)].charge == 0:
        _separate(molecule, index, oxygen[0])


# Metals that may exceed their default valence.
_ANY_NUMBER = (3, 11, 12, 19, 20, 37, 38, 56, 88)


def valence_problems(molecule: Molecule) -> list[int]:
    """Returns the indices of the atoms with more bonds than their element and charge allow.

    A charged atom has the valence of the isoelectronic element.

    Args:
        molecule: The molecule.

    >>> valence_problems(pyburn.chemistry.molecule_from_smiles("CC(C)(C)(C)C"))
    [1]
    """
    found = []
    for index, (atom, bonds) in enumerate(zip(molecule.atoms, molecule.bonds_of)):
        like = atom.number - atom.charge
        allowed = VALENCES.get(like)
        if atom.number not in VALENCES or allowed is None or atom.number in _ANY_NUMBER or like in _ANY_NUMBER:
            continue
        used = sum(bond.kekule for bond in bonds if not bond.is_dative) + atom.hydrogens
        if used > allowed[-1]:
            found.append(index)
    return found


def remove_hydrogens(molecule: Molecule) -> None:
    """Replaces terminal hydrogen atoms by a hydrogen count at their neighbor."""
    bonds_of = molecule.bonds_of
    removed: dict[int, int] = {}
    for index, atom in enumerate(molecule.atoms):
        if atom.number != 1 or atom.isotope or atom.charge not in (0, -1) or len(bonds_of[index]) != 1:
            continue
        bond = bonds_of[index][0]
        other = bond.other(index)
        if bond.kekule != 1 or bond.is_dative or molecule.atoms[other].number in (0, 1) or _defines_geometry(bond, bonds_of[other]):
            continue
        removed[index] = other
    if not removed:
        return
    for heavy in removed.values():
        molecule.atoms[heavy].hydrogens += 1
    place = {old: new for new, old in enumerate(i for i in range(len(molecule.atoms)) if i not in removed)}
    for atom in molecule.atoms:
        atom.chiral_order = tuple(place.get(neighbour, -1) for neighbour in atom.chiral_order)
    molecule.bonds = [bond for bond in molecule.bonds if bond.begin in place and bond.end in place]
    for bond in molecule.bonds:
        bond.begin, bond.end = place[bond.begin], place[bond.end]
    if molecule.positions is not None:
        molecule.positions = molecule.positions[list(place)]
    molecule.atoms = [molecule.atoms[old] for old in place]


def _defines_geometry(bond: Bond, beside: list[Bond]) -> bool:
    """Returns whether a hydrogen defines the geometry of a double bond."""
    return bool(bond.direction) and any(other.kekule == 2 for other in beside)
