"""pyburn.chemistry: SMILES, MOL and SDF files compared with RDKit, graphs, data sets."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn import FormatError, chemistry
from pyburn.chemistry import (
    Molecule,
    molecule_from_mol_block,
    molecule_from_smiles,
    molecule_to_graph,
    read_sdf,
    read_smiles,
    valence_problems,
)

DATA = os.environ.get("PYBURN_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="PYBURN_DATA does not name a folder with the data")
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "data.json"


def molecule_hash(molecule: Molecule) -> str:
    """As in tools/make_data_goldens.py."""
    atoms = [[a.number, a.charge, a.hydrogens, int(a.is_aromatic), a.isotope] for a in molecule.atoms]
    bonds = sorted([*sorted((b.begin, b.end)), int(2 * b.order)] for b in molecule.bonds)
    return hashlib.sha256(json.dumps([atoms, bonds]).encode()).hexdigest()[:4]


@needs_data
@pytest.mark.parametrize("name", ["delaney-processed.csv", "freesolv.csv", "Lipophilicity.csv", "tox21.csv", "gdb1k.sdf"])
def test_all_molecules_of_the_data_are_as_rdkit_reads_them(name: str) -> None:
    """Atomic numbers, charges, hydrogens, isotopes, aromaticity and bonds; what RDKit refuses has atoms with too many bonds."""
    golden = json.loads(GOLDEN.read_text())["molecules"][name]
    path = Path(str(DATA)) / "molecules" / name
    if name.endswith(".sdf"):
        molecules = read_sdf(path)
    else:
        with open(path, newline="") as file:
            molecules = [molecule_from_smiles(row["smiles"]) for row in csv.DictReader(file)]
    assert 4 * len(molecules) == len(golden)
    for i, molecule in enumerate(molecules):
        expected = golden[4 * i : 4 * i + 4]
        assert (expected == "----") == bool(valence_problems(molecule)), f"{name} {i}"
        assert expected in ("----", molecule_hash(molecule)), f"{name} {i}: {molecule}"


def hydrogens(smiles: str) -> list[int]:
    return [atom.hydrogens for atom in molecule_from_smiles(smiles).atoms]


@pytest.mark.parametrize(
    "smiles, expected",
    [
        ("C", [4]),
        ("CC(=O)O", [3, 0, 0, 1]),
        ("c1ccccc1", [1] * 6),
        ("c1cc[nH]c1", [1, 1, 1, 1, 1]),
        ("c1ccncc1", [1, 1, 1, 0, 1, 1]),
        ("[NH4+]", [4]),
        ("CS(=O)(=O)C", [3, 0, 0, 0, 3]),
        ("[H]C([H])([H])[H]", [4]),
        ("O=c1cc[nH]cc1", [0, 0, 1, 1, 1, 1, 1]),
        ("[2H]C", [0, 3]),
    ],
)
def test_hydrogens_are_counted(smiles: str, expected: list[int]) -> None:
    assert hydrogens(smiles) == expected


@pytest.mark.parametrize(
    "smiles, aromatic",
    [
        ("C1=CC=CC=C1", 6),
        ("C1=CC=CC1", 0),
        ("C1=CNC=C1", 5),
        ("C1=CC=C[CH-]1.[Na+]", 5),
        ("C1=CC=CC=CC=C1", 0),
        ("O=C1C=CC(=O)C=C1", 0),
        ("C1=CC2=CC=CC=CC2=C1", 10),
        ("c1ccc2ccccc2c1", 10),
        ("[CH+]1C=CC=CC=C1", 7),
        ("C1=C[N+](=O)[O-]C=C1", 0),
    ],
)
def test_aromatic_rings_are_found(smiles: str, aromatic: int) -> None:
    assert sum(atom.is_aromatic for atom in molecule_from_smiles(smiles).atoms) == aromatic


def test_the_two_ways_to_write_benzene_are_one() -> None:
    first, second = molecule_from_smiles("c1ccccc1O"), molecule_from_smiles("C1=CC=CC=C1O")
    assert molecule_hash(first) == molecule_hash(second)
    assert molecule_from_smiles("c1ccccc1-c1ccccc1").bonds[6].order == 1


def test_what_smiles_says_is_kept() -> None:
    molecule = molecule_from_smiles("[13CH3][C@@H](N)/C=C\\[O-:7] a name")
    assert molecule.name == "a name" and molecule.atoms[0].isotope == 13
    assert molecule.atoms[1].chirality == "@@" and molecule.atoms[1].chiral_order == (0, -1, 2, 3)
    assert [bond.direction for bond in molecule.bonds] == ["", "", "/", "", "\\"]
    assert (molecule.atoms[5].charge, molecule.atoms[5].atom_class) == (-1, 7)
    assert molecule_from_smiles("F[C@]1(Cl)CCO1").atoms[1].chiral_order == (0, 5, 2, 3)
    assert molecule_from_smiles("[CH3]").atoms[0].radicals == 1
    assert str(molecule_from_smiles("CCO.[Na+].[Cl-]")) == "Molecule(C2H6ClNaO, 5 atoms, 2 bonds)"
    assert len(molecule_from_smiles("C%10CCCCC%10").bonds) == 6 and len(molecule_from_smiles("")) == 0


def test_files_of_smiles_are_read() -> None:
    first, second = read_smiles(b"CCO\tethanol\n\nc1ccccc1 a ring\n")
    assert (first.name, second.name, second.formula) == ("ethanol", "a ring", "C6H6")
    with pytest.raises(FormatError, match=r"\(line 2\)"):
        read_smiles(b"C\nC(\n")


def test_groups_with_two_notations_have_one_form() -> None:
    for plain, charged in [
        ("CN(=O)=O", "C[N+]([O-])=O"),
        ("CN=N#N", "CN=[N+]=[N-]"),
        ("O=Cl(=O)(=O)O", "[O-][Cl+3]([O-])([O-])O"),
        ("c1ccn(=O)cc1", "c1cc[n+]([O-])cc1"),
    ]:
        assert molecule_hash(molecule_from_smiles(plain)) == molecule_hash(molecule_from_smiles(charged)), plain


@pytest.mark.parametrize(
    "smiles, message",
    [
        ("C(", "a branch is not closed"),
        ("C)", "a branch ends that has not begun"),
        ("C1CC", "the ring 1 is not closed"),
        ("C=", "a bond leads nowhere"),
        ("=C", "has no atom before it"),
        ("[Xx]", "there is no element 'Xx'"),
        ("[C", "an atom in brackets cannot be read"),
        ("C?", "unexpected '\\?'"),
        ("C11", "bound twice, or one to itself"),
        ("C12CC12", "bound twice, or one to itself"),
        ("C=1CC-1", "opened with '=' and closed with '-'"),
        ("c1cccn1", "have no alternating bonds"),
        ("[C+99]", "beyond what atoms have"),
        ("[Fe+" + "9" * 5000 + "]", "beyond what atoms have"),
    ],
)
def test_smiles_says_what_is_wrong(smiles: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        molecule_from_smiles(smiles)


def test_long_and_knotted_molecules_end_soon() -> None:
    assert len(molecule_from_smiles("C" * 20000)) == 20000
    assert len(molecule_from_smiles("(".join("C" * 5000) + ")" * 4999)) == 5000
    cage = "".join(f"C%({i})" for i in range(120)) + "".join(f"C%({(7 * i) % 120})" for i in range(120))
    assert len(molecule_from_smiles(cage)) == 240
    ladder = "C1" + "".join(f"=C%({i})C" for i in range(50, 90)) + "C" + "".join(f"C%({i})" for i in reversed(range(50, 90))) + "1"
    assert len(molecule_from_smiles(ladder)) > 100


MOL = """ethanol ion
  made by hand

  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    1.0000   -0.5000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.5000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    2.5000    0.0000    0.0000 O   0  5  0  0  0  0  0  0  0  0  0  0
  1  2  1  0
  2  3  1  0
M  ISO  1   1  13
M  END
>  <energy>
-1.5
two lines

$$$$
"""


def test_sdf_is_read() -> None:
    (first, second) = read_sdf((MOL + MOL.replace("\n", "\r\n")).encode())
    assert molecule_hash(first) == molecule_hash(second) and first.name == "ethanol ion"
    assert [(a.symbol, a.charge, a.hydrogens, a.isotope) for a in first.atoms] == [("C", 0, 3, 13), ("C", 0, 2, 0), ("O", -1, 0, 0)]
    assert first.positions is not None and first.positions[0].tolist() == [0, 1, -0.5]
    assert first.properties == {"energy": "-1.5\ntwo lines"}


def test_mol_of_version_3000_is_read() -> None:
    block = "x\n\n\n  0  0  0     0  0            999 V3000\n" + "\n".join(
        "M  V30 " + line
        for line in (
            *("BEGIN CTAB", "COUNTS 3 2 0 0 0", "BEGIN ATOM", "10 C 0 1 -", "-0.5 0 MASS=13", "20 C 1.5 0 0 0", "30 O 2.5 0 0 0 CHG=-1"),
            *("END ATOM", "BEGIN BOND", "1 1 10 20", "2 1 20 30", "END BOND", "END CTAB"),
        )
    )
    (reference,) = read_sdf(MOL.encode())
    molecule = molecule_from_mol_block(block + "\nM  END\n")
    assert molecule_hash(molecule) == molecule_hash(reference)
    assert molecule.positions is not None and np.array_equal(molecule.positions, reference.positions)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("  3  2  0", "999999  0", "are claimed in"),
        ("  1  2  1  0", "  1  9  1  0", "between the atoms 1 and 9 of 3"),
        (" O   0", " Zz  0", "there is no element 'Zz'"),
        ("1.5000", "1.5x00", "expected a number"),
        ("M  ISO  1   1  13", "M  ISO  9   1  13", "another length than it claims"),
    ],
)
def test_sdf_says_what_is_wrong(old: str, new: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_sdf(MOL.replace(old, new, 1).encode())


def test_molecules_become_graphs_that_batch() -> None:
    graphs = [molecule_to_graph(molecule_from_smiles(text), y=pyburn.tensor([float(i)])) for i, text in enumerate(["CCO", "c1ccccc1"])]
    batch = pyburn.nn.geometric.Batch.from_data_list(graphs)
    assert batch.x.shape == (9, 26) and batch.edge_index.shape == (2, 16) and batch.y.tolist() == [0, 1]
    assert graphs[1].edge_attr[:, 3].sum() == 12 and graphs[1].x[:, 22].sum() == 6


@pytest.mark.parametrize(
    ("smiles", "radicals"),
    [
        ("[13c]1ccccc1", [1, 0, 0, 0, 0, 0]),  # without the hydrogen that brackets would have to say
        ("[Cu]", [1]),
        ("[Cu+2].[Cl-]", [1, 0]),
        ("[Fe+2]", [0]),
        ("[Fe+3]", [1]),
        ("C[Cu]", [0, 0]),
    ],
)
def test_unpaired_electrons_of_rings_and_metals(smiles: str, radicals: list[int]) -> None:
    """What RDKit says."""
    molecule = molecule_from_smiles(smiles)
    assert [atom.radicals for atom in molecule.atoms] == radicals
    assert [atom.is_aromatic for atom in molecule.atoms] == [smiles.startswith("[13c]")] * len(radicals)


@needs_data
def test_molecules_batch() -> None:
    esol = chemistry.ESOL()
    graph = esol[1]
    assert len(esol) == 1128 and graph.smiles == "Cc1occc1C(=O)Nc2ccccc2" and graph.y.tolist() == [[pytest.approx(-3.3)]]
    batch = pyburn.nn.geometric.Batch.from_data_list([esol[i] for i in range(8)])
    assert batch.y.shape == (8, 1) and batch.x.shape[1] == graph.x.shape[1] and len(batch.smiles) == 8
    assert len(chemistry.FreeSolv()) == 642 and len(chemistry.Lipophilicity()) == 4200
    tox = chemistry.Tox21()
    assert len(tox) == 7831 and tox[0].y.shape == (1, 12) and tox.targets.isnan().any()
    gdb = chemistry.GDB1k()
    assert len(gdb) == 991 and gdb[0].pos.shape == (5, 3) and gdb[0].y.item() == pytest.approx(-596.35)
