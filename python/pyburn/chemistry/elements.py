"""Periodic table data for reading molecules."""

from __future__ import annotations

_LETTERS = (
    "* H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd "
    "Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th "
    "Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
SYMBOLS = _LETTERS.split()
NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS)}

# Symbols of aromatic atoms in SMILES.
AROMATIC = ("b", "c", "n", "o", "p", "s", "se", "as", "te", "si")

# Valences of the elements, the default first. Other elements may have any valence.
VALENCES = {
    **{1: (1,), 2: (0,), 3: (1,), 4: (2,), 5: (3,), 6: (4,), 7: (3,), 8: (2,), 9: (1,), 10: (0,), 11: (1,), 12: (2,), 13: (3,), 14: (4,)},
    **{15: (3, 5), 16: (2, 4, 6), 17: (1,), 18: (0,), 19: (1,), 20: (2,), 31: (3,), 32: (4,), 33: (3, 5), 34: (2, 4, 6), 35: (1,)},
    **{36: (0,), 37: (1,), 38: (2,), 49: (3,), 50: (2, 4), 51: (3, 5), 52: (2, 4, 6), 53: (1, 3, 5), 54: (0, 2, 4, 6), 55: (1,)},
    **{56: (2,), 82: (2, 4), 83: (3, 5), 84: (2, 4, 6), 85: (1, 3, 5), 86: (0,), 87: (1,), 88: (2,)},
}


def outer_electrons(number: int) -> int:
    """Returns the number of valence electrons of a main-group element; 0 for others."""
    for noble, before in ((86, 54), (54, 36), (36, 18), (18, 10), (10, 2), (2, 0)):
        if before < number <= noble:
            place = number - before
            if place <= 2:
                return place
            return 8 - (noble - number) if noble - number <= 5 else 0
    return max(0, number - 86) if number <= 88 else 0


def more_electronegative(first: int, second: int) -> bool:
    """Returns whether the first element is more electronegative: it has more valence electrons, or as many and a smaller shell."""
    a, b = outer_electrons(first), outer_electrons(second)
    return a > b or (a == b and first < second)
