"""Kekulization: assigns single and double bonds to aromatic bonds by matching atoms that need a double bond."""

from __future__ import annotations

from collections import deque

from ..data.files.source import FormatError
from .elements import VALENCES
from .molecule import Molecule


def kekulize(molecule: Molecule, in_ring: list[bool]) -> None:
    """Assigns single and double orders to the aromatic bonds of a molecule, and clears the flags of bonds outside of rings.

    Raises:
        FormatError: There is no assignment.
    """
    for bond, ring in zip(molecule.bonds, in_ring):
        if bond.is_aromatic and not ring:
            bond.is_aromatic, bond.kekule = False, 1
    bonds_of = molecule.bonds_of
    wanting = [i for i, atom in enumerate(molecule.atoms) if atom.is_aromatic and _wants_double(molecule, bonds_of, i)]
    place = {atom: at for at, atom in enumerate(wanting)}
    around: list[list[int]] = [[] for _ in wanting]
    for bond in molecule.bonds:
        if bond.is_aromatic:
            bond.kekule = 1
            if bond.begin in place and bond.end in place:
                around[place[bond.begin]].append(place[bond.end])
                around[place[bond.end]].append(place[bond.begin])
    partner = _perfect_matching(around)
    lonely = [wanting[i] for i, other in enumerate(partner) if other < 0]
    if lonely:
        # An aromatic nitrogen without its hydrogen, as in c1cccn1, is indistinguishable from pyridine nitrogen.
        names = ", ".join(f"{molecule.atoms[i].symbol}{i}" for i in lonely[:5])
        raise FormatError(f"[smiles] the aromatic atoms have no alternating bonds: {names} (is a hydrogen missing, as in [nH]?)")
    for bond in molecule.bonds:
        if bond.is_aromatic and bond.begin in place and partner[place[bond.begin]] == place.get(bond.end):
            bond.kekule = 2


def _wants_double(molecule: Molecule, bonds_of: list[list], index: int) -> bool:
    atom = molecule.atoms[index]
    if atom.number == 0:
        return False
    bonds = [bond for bond in bonds_of[index] if not bond.is_dative]
    used = sum(1 if bond.is_aromatic else bond.kekule for bond in bonds) + atom.hydrogens
    allowed = VALENCES.get(atom.number - atom.charge) or VALENCES.get(atom.number)
    if allowed is None:
        return False
    # For an atom in a higher valence state, such as sulfoxide sulfur, use the next higher valence.
    valence = next((v for v in allowed if v >= used), allowed[-1])
    return used + atom.radicals + 1 <= valence  # below: a radical, such as [13c] without hydrogen


def _perfect_matching(around: list[list[int]]) -> list[int]:
    """Returns a maximum matching (Edmonds's blossom algorithm): the partner of each atom, or -1."""
    count = len(around)
    partner = [-1] * count
    for atom in range(count):  # greedy initial matching, which finds most pairs
        if partner[atom] < 0:
            free = next((other for other in around[atom] if partner[other] < 0), None)
            if free is not None:
                partner[atom], partner[free] = free, atom
    for root in range(count):
        if partner[root] < 0:
            end, parent = _augmenting_path(around, partner, root)
            while end >= 0:
                before = parent[end]
                after = partner[before]
                partner[end], partner[before] = before, end
                end = after
    return partner


def _augmenting_path(around: list[list[int]], partner: list[int], root: int) -> tuple[int, list[int]]:
    count = len(around)
    parent, base, used = [-1] * count, list(range(count)), [False] * count
    used[root] = True
    waiting = deque([root])

    def common(a: int, b: int) -> int:
        seen = set()
        while True:
            a = base[a]
            seen.add(a)
            if partner[a] < 0:
                break
            a = parent[partner[a]]
        while True:
            b = base[b]
            if b in seen:
                return b
            b = parent[partner[b]]

    def mark(atom: int, stop: int, child: int, blossom: set[int]) -> None:
        while base[atom] != stop:
            blossom.update((base[atom], base[partner[atom]]))
            parent[atom] = child
            child = partner[atom]
            atom = parent[partner[atom]]

    while waiting:
        atom = waiting.popleft()
        for other in around[atom]:
            if base[atom] == base[other] or partner[atom] == other:
                continue
            if other == root or (partner[other] >= 0 and parent[partner[other]] >= 0):
                stop = common(atom, other)
                blossom: set[int] = set()
                mark(atom, stop, other, blossom)
                mark(other, stop, atom, blossom)
                for i in range(count):
                    if base[i] in blossom:
                        base[i] = stop
                        if not used[i]:
                            used[i] = True
                            waiting.append(i)
            elif parent[other] < 0:
                parent[other] = atom
                if partner[other] < 0:
                    return other, parent
                used[partner[other]] = True
                waiting.append(partner[other])
    return -1, parent
