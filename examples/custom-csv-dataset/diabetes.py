"""Two ways from a table in a file to a data set: items of a class of your own, and rows of tensors.

python examples/custom-csv-dataset/diabetes.py [diabetes.tsv]
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pyburn import Tensor
from pyburn.data import DataLoader, Dataset, InMemDataset, MapperDataset
from pyburn.data.files import CSVDataset, Table, read_csv
from pyburn.data.sets import Diabetes


class Patient(NamedTuple):
    """One row, under names that say more than those of the file."""

    age: int
    sex: int
    bmi: float
    blood_pressure: float
    total_cholesterol: int
    ldl: float
    hdl: float
    cholesterol_ratio: float
    triglycerides_log: float
    glucose: int
    progression: int  # what is to be predicted: how far the disease went on in a year


HEADER = ("AGE", "SEX", "BMI", "BP", "S1", "S2", "S3", "S4", "S5", "S6", "Y")


def write_original(path: Path) -> None:
    """The table in the form it was published in: a header, tabs between the values."""
    known = Diabetes()
    rows = np.concatenate([known.data.numpy(), known.targets.numpy()[:, None]], axis=1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(HEADER)
        writer.writerows([f"{value:.6g}" for value in row] for row in rows)


class Patients(Dataset[Patient]):
    """A data set is a class with a length and items. This one keeps the table and makes an item when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.table: Table = read_csv(path)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> Patient:
        return Patient(*self.table.row(range(len(self))[index]).values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "file", type=Path, nargs="?", default=Path("diabetes.tsv"), help="table with tabs; it is written if it is not there"
    )
    path = parser.parse_args().file
    if not path.exists():
        write_original(path)

    patients = Patients(path)
    print(f"{patients.table}\n{len(patients)} patients; the first and the last:\n  {patients[0]}\n  {patients[-1]}\n")

    # Items of a class are collated field by field: a batch is a Patient of tensors.
    batch = next(iter(DataLoader(patients, batch_size=4)))
    print(f"four at once: age {batch.age.tolist()}, progression {batch.progression.tolist()}\n")

    # Data sets are made of data sets: the old ones only, and of them two numbers only.
    old = InMemDataset(patient for patient in patients if patient.age >= 70)
    pairs = MapperDataset(old, lambda patient: (patient.bmi, patient.progression))
    print(f"{len(pairs)} patients of 70 and more; body mass and progression of the first: {pairs[0]}\n")

    # For a model, rows of tensors are all that is needed.
    rows = CSVDataset(path, target="Y")
    features, target = rows[0]
    assert isinstance(features, Tensor)
    print(f"as tensors: features {tuple(features.shape)}, target {float(target):g}")


if __name__ == "__main__":
    main()
