"""Ring perception: the smallest rings that generate all others."""

from __future__ import annotations

from collections import deque

from .molecule import Molecule

# Bounds the number of rings of cage compounds; no real molecule has this many.
_MOST_RINGS = 2000


def ring_bonds(molecule: Molecule) -> list[bool]:
    """Returns for each bond whether it is in a ring, that is, not a bridge of the graph."""
    around: list[list[tuple[int, int]]] = [[] for _ in molecule.atoms]
    for index, bond in enumerate(molecule.bonds):
        around[bond.begin].append((bond.end, index))
        around[bond.end].append((bond.begin, index))
    in_ring = [True] * len(molecule.bonds)
    seen, low = [-1] * len(molecule.atoms), [0] * len(molecule.atoms)
    time = 0
    for root in range(len(molecule.atoms)):
        if seen[root] >= 0:
            continue
        seen[root] = low[root] = time
        time += 1
        path = [(root, -1, iter(around[root]))]
        while path:
            atom, came_by, rest = path[-1]
            for other, index in rest:
                if index == came_by:
                    continue
                if seen[other] < 0:
                    seen[other] = low[other] = time
                    time += 1
                    path.append((other, index, iter(around[other])))
                    break
                low[atom] = min(low[atom], seen[other])
            else:
                path.pop()
                if path:
                    before = path[-1][0]
                    low[before] = min(low[before], low[atom])
                    if low[atom] > seen[before]:
                        in_ring[came_by] = False
    return in_ring


def shortest_rings(molecule: Molecule, in_ring: list[bool]) -> list[list[int]]:
    """Returns the rings as lists of bonds, shortest first. Of interchangeable rings of equal length, all are included."""
    around: list[list[tuple[int, int]]] = [[] for _ in molecule.atoms]
    for index, bond in enumerate(molecule.bonds):
        if in_ring[index]:
            around[bond.begin].append((bond.end, index))
            around[bond.end].append((bond.begin, index))
    members = [atom for atom in range(len(around)) if around[atom]]
    wanted = sum(in_ring) - len(members) + _parts(around, members)
    if wanted > _MOST_RINGS:
        return []
    basis: dict[int, int] = {}
    rings: list[list[int]] = []
    done, limit = 0, 8
    while len(basis) < wanted:
        # Most rings are small: search longer ones only if these do not suffice.
        candidates = _candidates(around, members, limit)
        for length in range(done + 1, limit + 1):
            group = [mask for mask in candidates if mask.bit_count() == length]
            fresh = [mask for mask in group if _reduced(mask, basis)]
            rings.extend([bit for bit in range(mask.bit_length()) if mask >> bit & 1] for mask in fresh)
            for mask in fresh:
                rest = _reduced(mask, basis)
                if rest:
                    basis[rest.bit_length()] = rest
            if len(basis) == wanted:
                break
        if limit > 2 * len(members):
            break
        done, limit = limit, limit * 2
    return rings


def _parts(around: list[list[tuple[int, int]]], members: list[int]) -> int:
    seen: set[int] = set()
    count = 0
    for root in members:
        if root in seen:
            continue
        count += 1
        seen.add(root)
        waiting = [root]
        while waiting:
            for other, _ in around[waiting.pop()]:
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
    return count


def _candidates(around: list[list[tuple[int, int]]], members: list[int], limit: int) -> list[int]:
    """Returns rings through each atom, made of two shortest paths and a bond between their ends, as bit sets."""
    found: dict[int, None] = {}
    for root in members:
        depth, mask, side = {root: 0}, {root: 0}, {root: root}
        waiting = deque([root])
        while waiting:
            atom = waiting.popleft()
            if 2 * depth[atom] >= limit:
                break
            for other, bond in around[atom]:
                if other not in depth:
                    depth[other], mask[other] = depth[atom] + 1, mask[atom] | 1 << bond
                    side[other] = other if atom == root else side[atom]
                    waiting.append(other)
        for atom, bits in mask.items():
            for other, bond in around[atom]:
                if other < atom or other not in depth or side[other] == side[atom] or atom == root or other == root:
                    continue
                if depth[atom] + depth[other] + 1 <= limit:
                    found[bits | mask[other] | 1 << bond] = None
    return list(found)


def _reduced(mask: int, basis: dict[int, int]) -> int:
    while mask:
        other = basis.get(mask.bit_length())
        if other is None:
            return mask
        mask ^= other
    return 0
