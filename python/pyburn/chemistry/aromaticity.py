"""Aromaticity perception: Hückel's rule over rings and fused ring systems, following RDKit's model.

The model is described in the RDKit book: electrons contributed by each atom, eligible atoms, systems of at most six rings, and bonds
between fused rings that stay non-aromatic if only the outline is aromatic.
"""

from __future__ import annotations

from itertools import chain

from .elements import VALENCES, more_electronegative, outer_electrons
from .molecule import Bond, Molecule
from .rings import shortest_rings

# The minimum and maximum number of electrons that an atom contributes to a ring.
_ANY, _ONE, _TWO, _NONE = (0, 2), (1, 1), (2, 2), (0, 0)

_MOST_FUSED, _LONGEST_FUSED, _MOST_SYSTEMS = 6, 24, 20000


def perceive_aromaticity(molecule: Molecule, in_ring: list[bool]) -> None:
    """Sets the aromatic flags of a kekulized molecule."""
    for atom in molecule.atoms:
        atom.is_aromatic = False
    for bond in molecule.bonds:
        bond.is_aromatic = False
    rings = shortest_rings(molecule, in_ring)
    if not rings:
        return
    gifts = _gifts(molecule, in_ring)
    atoms_of = [sorted({end for index in ring for end in (molecule.bonds[index].begin, molecule.bonds[index].end)}) for ring in rings]
    chosen = [
        i for i, atoms in enumerate(atoms_of) if all(gifts[a] is not None for a in atoms) and any(molecule.atoms[a].number for a in atoms)
    ]
    bonds_of = {i: set(rings[i]) for i in chosen}
    beside: dict[int, set[int]] = {i: set() for i in chosen}
    for at, first in enumerate(chosen):
        for second in chosen[at + 1 :]:
            if (
                len(rings[first]) <= _LONGEST_FUSED
                and len(rings[second]) <= _LONGEST_FUSED
                and len(bonds_of[first] & bonds_of[second]) == 1
            ):
                beside[first].add(second)
                beside[second].add(first)
    left = set(chosen)
    while left:
        system, waiting = set(), [min(left)]
        while waiting:
            ring = waiting.pop()
            if ring not in system:
                system.add(ring)
                waiting.extend(beside[ring])
        left -= system
        _mark_system(molecule, sorted(system), rings, atoms_of, beside, gifts)


def _mark_system(
    molecule: Molecule,
    system: list[int],
    rings: list[list[int]],
    atoms_of: list[list[int]],
    beside: dict[int, set[int]],
    gifts: list[tuple[int, int] | None],
) -> None:
    """Tries single rings, then pairs of fused rings, and so on until every bond of the system is aromatic."""
    everything = set(chain.from_iterable(rings[i] for i in system))
    done: set[int] = set()
    groups = [frozenset([i]) for i in system]
    for _ in range(_MOST_FUSED):
        for group in groups:
            if _follows_rule(group, atoms_of, gifts):
                done |= _mark(molecule, group, rings, atoms_of)
        if done >= everything:
            return
        larger = dict.fromkeys(group | {other} for group in groups for ring in sorted(group) for other in sorted(beside[ring] - group))
        groups = list(larger)
        if not groups or len(groups) > _MOST_SYSTEMS:
            return


def _follows_rule(group: frozenset[int], atoms_of: list[list[int]], gifts: list[tuple[int, int] | None]) -> bool:
    """Returns whether the electrons on the outline can be 4n + 2. Atoms inside, shared by three rings, do not count."""
    seen: dict[int, int] = {}
    for ring in group:
        for atom in atoms_of[ring]:
            seen[atom] = seen.get(atom, 0) + 1
    given = [gifts[atom] for atom, times in seen.items() if times <= 2]
    if sum(gift == _ANY for gift in given) > 1:
        return False
    fewest, most = sum(gift[0] for gift in given if gift), sum(gift[1] for gift in given if gift)
    return most == 2 or (most >= 6 and any((count - 2) % 4 == 0 for count in range(fewest, most + 1)))


def _mark(molecule: Molecule, group: frozenset[int], rings: list[list[int]], atoms_of: list[list[int]]) -> set[int]:
    times: dict[int, int] = {}
    for ring in group:
        for atom in atoms_of[ring]:
            molecule.atoms[atom].is_aromatic = True
        for bond in rings[ring]:
            times[bond] = times.get(bond, 0) + 1
    outline = {bond for bond, count in times.items() if count == 1}
    for bond in outline:
        molecule.bonds[bond].is_aromatic = True
    return outline


def _gifts(molecule: Molecule, in_ring: list[bool]) -> list[tuple[int, int] | None]:
    """Returns the electrons that each ring atom contributes; None for atoms that cannot be aromatic."""
    bonds_of: list[list[tuple[Bond, bool]]] = [[] for _ in molecule.atoms]
    for bond, ring in zip(molecule.bonds, in_ring):
        bonds_of[bond.begin].append((bond, ring))
        bonds_of[bond.end].append((bond, ring))
    found: list[tuple[int, int] | None] = []
    for index, bonds in enumerate(bonds_of):
        gift = _gift(molecule, index, bonds) if any(ring for _, ring in bonds) else None
        found.append(gift if gift is not None and _may_take_part(molecule, index, bonds) else None)
    return found


def _gift(molecule: Molecule, index: int, bonds: list[tuple[Bond, bool]]) -> tuple[int, int] | None:
    atom = molecule.atoms[index]
    inside = any(ring and bond.kekule >= 2 for bond, ring in bonds)
    if atom.number == 0:
        return _ONE if inside else _ANY
    electrons = _spare_electrons(molecule, index, bonds)
    outside = next((bond.other(index) for bond, ring in bonds if not ring and bond.kekule >= 2), None)
    pulled = outside is not None and more_electronegative(molecule.atoms[outside].number, atom.number)
    if electrons < 0:
        return None
    if electrons == 0:
        return _NONE if outside is not None else _ONE if inside else None
    if electrons == 1:
        if outside is not None:
            return _NONE if pulled else _ONE
        if any(bond.kekule >= 2 for bond, _ in bonds):
            return _ONE
        return _NONE if atom.charge == 1 else None
    return _ONE if (electrons - pulled) % 2 else _TWO


def _spare_electrons(molecule: Molecule, index: int, bonds: list[tuple[Bond, bool]]) -> int:
    """Returns the electrons of an atom that are available to a ring; negative for atoms with one bond, or more than three."""
    atom = molecule.atoms[index]
    usual = VALENCES.get(atom.number, (-1,))[0]
    degree = sum(not bond.is_dative for bond, _ in bonds) + atom.hydrogens
    if usual <= 1 or degree > 3:
        return -1
    alone = max(outer_electrons(atom.number) - usual - atom.charge, 0)
    spare = usual - degree + alone - atom.radicals
    if spare > 1 and sum(bond.kekule - 1 for bond, _ in bonds if not bond.is_dative) > 1:
        return 1
    return spare


def _may_take_part(molecule: Molecule, index: int, bonds: list[tuple[Bond, bool]]) -> bool:
    atom = molecule.atoms[index]
    if atom.number > 18 and atom.number not in (34, 52):
        return False
    valence = sum(bond.kekule for bond, _ in bonds if not bond.is_dative) + atom.hydrogens
    usual = VALENCES.get(atom.number, (-1,))[0]
    like = VALENCES.get(atom.number - atom.charge, (-1,))[0]
    if usual > 0 and valence > like:
        return False
    if atom.radicals and (atom.number != 6 or atom.charge):
        return False
    multiple = sum(bond.kekule >= 2 for bond, _ in bonds)
    return multiple <= 1
