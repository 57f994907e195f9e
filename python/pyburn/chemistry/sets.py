"""Molecule data sets with measured properties: ESOL, FreeSolv, Lipophilicity, Tox21, and small GDB molecules with energies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..data.files import FormatError, read_csv
from ..data.sets.place import Files, NamedSet, Resource, Root, raw_github
from ..data.unpack import unpack_members
from ..nn.geometric import Data
from ..tensor import from_numpy
from .graph_features import molecule_to_graph
from .sdf import read_sdf
from .smiles import molecule_from_smiles
from .valence import valence_problems

_DEEPCHEM = "deepchem/deepchem", "fbe3b911a94a6eb8c84c1a9e7ac67a472c49ea80"


class MoleculeSet(NamedSet[Data], counted="molecules"):
    """Base class of molecular property data sets. Samples are graphs with the features of `molecule_to_graph`, `y` (1, tasks) float32 and
    `smiles`.

    Missing values are NaN. Graphs are created on first access. There is no standard split.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        transform: Applied to each graph.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.
        FormatError: A file is damaged, or has no column of a task.

    >>> issubclass(ESOL, MoleculeSet)
    True
    """

    wanted: ClassVar[tuple[str, ...]]
    tasks: ClassVar[tuple[str, ...]]
    resource: ClassVar[Resource]
    folders: ClassVar[tuple[str, ...]] = ("molecules", "moleculenet")

    def __init__(self, root: Root = None, transform: Callable[[Data], Any] | None = None, download: bool = True) -> None:
        self.transform = transform
        files = Files(type(self).__name__, (self.wanted,), self.folders, (self.resource,), unpack=self._unpack)
        table = read_csv(files.locate(root, download)[0])
        for name in ("smiles", *self.tasks):
            if name not in table:
                raise FormatError(f"[{type(self).__name__}] the file has no column {name!r}: there are {', '.join(table.columns)}")
        self.smiles: list[str] = [str(text).strip() for text in table["smiles"]]
        self.targets = from_numpy(table.numpy(self.tasks))
        self._graphs: dict[int, Data] = {}

    @staticmethod
    def _unpack(folder: Path) -> None:
        """Extracts the wanted file from a downloaded archive."""

    def __len__(self) -> int:
        return len(self.smiles)

    def __getitem__(self, index: int) -> Any:
        at = range(len(self))[index]
        graph = self._graphs.get(at)
        if graph is None:
            molecule = molecule_from_smiles(self.smiles[at])
            graph = self._graphs[at] = molecule_to_graph(molecule, y=self.targets[at : at + 1], smiles=self.smiles[at])
        return graph if self.transform is None else self.transform(graph)


class ESOL(MoleculeSet):
    """1,128 molecules with their water solubility, as log10 of mol per liter (Delaney 2004).

    Arguments are those of `MoleculeSet`.

    >>> ESOL.tasks
    ('measured log solubility in mols per litre',)
    """

    wanted = ("delaney-processed.csv",)
    tasks = ("measured log solubility in mols per litre",)
    # From deepchem/deepchem at the commit; the git blob hash is 970b0d3.
    resource = Resource(
        "delaney-processed.csv",
        raw_github(*_DEEPCHEM, "datasets/delaney-processed.csv"),
        "sha256:8c06a76f0c6487d29ab0f903e6a7a7139f189ab3c1178f159c8be8964602f189",
    )


class FreeSolv(MoleculeSet):
    """642 molecules with their hydration free energy in kcal/mol (Mobley and Guthrie 2014).

    Arguments are those of `MoleculeSet`.

    >>> FreeSolv.tasks
    ('expt',)
    """

    wanted = ("freesolv.csv", "SAMPL.csv")
    tasks = ("expt",)
    # URL and checksum from DeepGraphLearning/torchdrug, commit 39ad8c7, torchdrug/datasets/freesolv.py.
    resource = Resource(
        "FreeSolv.zip",
        ("https://s3-us-west-1.amazonaws.com/deepchem.io/datasets/molnet_publish/FreeSolv.zip",),
        "md5:8d681babd239b15e2f8b2d29f025577a",
    )

    @staticmethod
    def _unpack(folder: Path) -> None:
        unpack_members(folder / "FreeSolv.zip", folder, {"SAMPL.csv": "SAMPL.csv"}, largest=16 << 20)


class Lipophilicity(MoleculeSet):
    """4,200 molecules with their octanol/water distribution coefficient, log D at pH 7.4 (ChEMBL).

    Arguments are those of `MoleculeSet`.

    >>> Lipophilicity.tasks
    ('exp',)
    """

    wanted = ("Lipophilicity.csv",)
    tasks = ("exp",)
    # URL and checksum from DeepGraphLearning/torchdrug, commit 39ad8c7, torchdrug/datasets/lipophilicity.py.
    resource = Resource(
        "Lipophilicity.csv",
        ("http://deepchem.io.s3-website-us-west-1.amazonaws.com/datasets/Lipophilicity.csv",),
        "md5:85a0e1cb8b38b0dfc3f96ff47a57f0ab",
    )


class Tox21(MoleculeSet):
    """7,831 molecules with the results of twelve toxicity assays; NaN where a molecule was not tested.

    Arguments are those of `MoleculeSet`.

    >>> len(Tox21.tasks), Tox21.tasks[0]
    (12, 'NR-AR')
    """

    wanted = ("tox21.csv", "tox21.csv.gz")
    tasks = (
        *("NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD", "NR-PPAR-gamma"),
        *("SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53"),
    )
    # From deepchem/deepchem at the commit; the git blob hash is 23fe6ed.
    resource = Resource(
        "tox21.csv.gz",
        raw_github(*_DEEPCHEM, "datasets/tox21.csv.gz"),
        "sha256:48b34e4e59a2bae6f95734cd206c1869ab355f50a5e50bb7371a21f861d5e297",
    )


class GDB1k(NamedSet[Data], counted="molecules"):
    """991 small molecules with atom positions (`pos`) and atomization energies in kcal/mol (`y`).

    The file has nine more molecules with impossible valences; the list of energies excludes them, and so does this data set.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        transform: Applied to each graph.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.
        FormatError: The numbers of molecules and energies differ.

    >>> GDB1k("/nowhere", download=False)
    Traceback (most recent call last):
        ...
    pyburn.data.sets.place.DataNotFoundError: ...
    """

    def __init__(self, root: Root = None, transform: Callable[[Data], Any] | None = None, download: bool = True) -> None:
        self.transform = transform
        # From deepchem/deepchem at the commit; the git blob hashes are b09a5f5 and 34350ef.
        checksums = {
            "gdb1k.sdf": "d10b7ebd226f2b4ef9bf47b57c6e03323dd9e023541b8262ad35b225da971a68",
            "gdb1k.sdf.csv": "d961f17fa5848bb6cc867b1e8a669d5d8110ec37dc977c4de4a1fd9c17e13b40",
        }
        resources = tuple(Resource(n, raw_github(*_DEEPCHEM, f"datasets/{n}"), f"sha256:{c}") for n, c in checksums.items())
        files = Files("GDB1k", tuple((name,) for name in checksums), ("molecules",), resources)
        structures, values = files.locate(root, download)
        self.molecules = [molecule for molecule in read_sdf(structures) if not valence_problems(molecule)]
        energies = read_csv(values).numpy(dtype=np.float32)
        if len(energies) != len(self.molecules):
            raise FormatError(f"[GDB1k] {len(self.molecules)} molecules, but {len(energies)} energies")
        self.targets = from_numpy(energies)

    def __len__(self) -> int:
        return len(self.molecules)

    def __getitem__(self, index: int) -> Any:
        at = range(len(self))[index]
        graph = molecule_to_graph(self.molecules[at], y=self.targets[at : at + 1])
        return graph if self.transform is None else self.transform(graph)
