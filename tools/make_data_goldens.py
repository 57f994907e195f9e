"""Records what RDKit, MNE and PyTorch Geometric read in the files of PYBURN_DATA, as tests/golden/data.json.

    PYBURN_DATA=... python tools/make_data_goldens.py        # in an environment with rdkit, mne and torch_geometric

Of each molecule a hash of four digits is kept, of each recording some numbers, so that the file stays small.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

DATA = Path(os.environ["PYBURN_DATA"])
GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "data.json"
SMILES = ["delaney-processed.csv", "freesolv.csv", "Lipophilicity.csv", "tox21.csv"]
RECORDINGS = ["physionet_S001R03.edf", "physionet_S001R04.edf", "test.edf", "test.bdf"]


def molecule_hash(molecule: Any) -> str:
    """Atoms as [number, charge, hydrogens, aromatic, isotope], bonds as [first, last, twice the order]; ---- for what is refused."""
    if molecule is None:
        return "----"
    atoms = [
        [a.GetAtomicNum(), a.GetFormalCharge(), a.GetTotalNumHs(), int(a.GetIsAromatic()), a.GetIsotope()] for a in molecule.GetAtoms()
    ]
    ends = [(sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx())), int(2 * b.GetBondTypeAsDouble())) for b in molecule.GetBonds()]
    bonds = sorted([*pair, order] for pair, order in ends)
    return hashlib.sha256(json.dumps([atoms, bonds]).encode()).hexdigest()[:4]


def molecules() -> dict[str, str]:
    chem = importlib.import_module("rdkit.Chem")
    importlib.import_module("rdkit.RDLogger").DisableLog("rdApp.*")
    found = {}
    for name in SMILES:
        with open(DATA / "molecules" / name, newline="") as file:
            found[name] = "".join(molecule_hash(chem.MolFromSmiles(row["smiles"].strip())) for row in csv.DictReader(file))
    supplier = chem.SDMolSupplier(str(DATA / "molecules" / "gdb1k.sdf"), removeHs=False)
    found["gdb1k.sdf"] = "".join(molecule_hash(molecule) for molecule in supplier)
    return found


def recordings() -> dict[str, Any]:
    mne = importlib.import_module("mne")
    found = {}
    for name in RECORDINGS:
        path = DATA / "eeg" / name
        read = mne.io.read_raw_bdf if name.endswith(".bdf") else mne.io.read_raw_edf
        raw = read(path, preload=True, verbose="error", stim_channel=None)
        values = raw.get_data(units="uV") if name.startswith("physionet") else raw.get_data()
        picks = [0, len(raw.ch_names) // 2]
        found[name] = {
            "channels": raw.ch_names,
            "rate": raw.info["sfreq"],
            "samples": values.shape[1],
            "microvolts": name.startswith("physionet"),
            "values": {raw.ch_names[i]: [float(v) for v in values[i, [0, 1, 1000, -1]]] for i in picks},
            "deviation": {raw.ch_names[i]: float(values[i].std()) for i in picks},
            "annotations": [[round(float(a["onset"]), 6), round(float(a["duration"]), 6), str(a["description"])] for a in raw.annotations],
        }
    return found


def citation_graphs() -> dict[str, Any]:
    sets = importlib.import_module("torch_geometric.datasets")
    found = {}
    for name in ("Cora", "CiteSeer"):
        with tempfile.TemporaryDirectory() as folder:
            raw = Path(folder) / name / "raw"
            raw.mkdir(parents=True)
            for path in (DATA / "planetoid").glob(f"ind.{name.lower()}.*"):
                shutil.copy(path, raw / path.name)
            graph = sets.Planetoid(folder, name)[0]
            arrays = {key: graph[key].numpy() for key in ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask")}
            digests = {key: hashlib.sha256(value.tobytes()).hexdigest() for key, value in arrays.items()}
            found[name.lower()] = {key: [list(arrays[key].shape), str(arrays[key].dtype), digests[key]] for key in arrays}
    return found


if __name__ == "__main__":
    golden = {"molecules": molecules(), "recordings": recordings(), "citation_graphs": citation_graphs()}
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
