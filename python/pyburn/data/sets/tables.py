"""Small tabular data sets: California housing, diabetes, digits, breast cancer. Samples are (features, target) tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tensor import from_numpy
from ..files import FormatError, Table, read_csv
from .place import Files, LabelledSet, Resource, Root, raw_github

_SKLEARN = "scikit-learn/scikit-learn", "be5a8a8bd493747a5d52c7700dc0f1d47b645be6"


class TableSet(LabelledSet, counted="rows"):
    """Base class of tabular data sets: `data` (rows, features) float32, `targets`, `feature_names`.

    There is no standard split: every fifth row is for testing.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: True for the training rows, False for the test rows, None for all.
        transform: Applied to the features.
        target_transform: Applied to the target.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.
        FormatError: A file is damaged.

    >>> features, target = pyburn.data.sets.Diabetes()[0]  # doctest: +SKIP
    """

    feature_names: list[str]

    def __init__(
        self,
        root: Root = None,
        train: bool | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, train, transform, target_transform, download)

    def _load(self, root: Root, download: bool) -> None:
        features, targets = self._read(root, download)
        if len(features) != len(targets):
            raise FormatError(f"[{type(self).__name__}] {len(features)} rows, but {len(targets)} targets")
        if self.train is not None:
            kept = (np.arange(len(features)) % 5 != 4) == self.train
            features, targets = features[kept], targets[kept]
        self.data, self.targets = from_numpy(np.ascontiguousarray(features, np.float32)), from_numpy(np.ascontiguousarray(targets))

    def _read(self, root: Root, download: bool) -> tuple[np.ndarray, np.ndarray]:
        """Returns the features and the targets of all rows."""
        raise NotImplementedError


def _sklearn_file(set_name: str, **checksums: str) -> Files:
    """Files of scikit-learn's sklearn/datasets/data at a fixed commit."""
    names = {name.replace("__", "."): checksum for name, checksum in checksums.items()}
    resources = tuple(Resource(n, raw_github(*_SKLEARN, f"sklearn/datasets/data/{n}"), f"sha256:{c}") for n, c in names.items())
    return Files(set_name, tuple((name,) for name in names), ("tabular", "sklearn"), resources)


class CaliforniaHousing(TableSet):
    """House prices of 20,640 California districts, 1990: eight features, and the median value in units of 100,000 dollars.

    The features are those of scikit-learn. In 207 districts the number of bedrooms is missing and replaced by the median; `table` is the
    original table.

    >>> len(pyburn.data.sets.CaliforniaHousing())  # doctest: +SKIP
    20640
    """

    feature_names = ["MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude"]
    table: Table

    def _read(self, root: Root, download: bool) -> tuple[np.ndarray, np.ndarray]:
        # From ageron/handson-ml2 at the commit below; the git blob hash is d5e3fa2.
        urls = raw_github("ageron/handson-ml2", "1e2115277b50f6c584cd668fa30e3af309a5b136", "datasets/housing/housing.csv")
        checksum = "sha256:8a3727f4cf54ac1a327f69b1d5b4db54c5834ea81c6e4efc0d163300022a685e"
        files = Files("CaliforniaHousing", (("housing.csv",),), ("california_housing",), (Resource("housing.csv", urls, checksum),))
        self.table = table = read_csv(files.locate(root, download)[0])
        households = table["households"]
        bedrooms = table["total_bedrooms"] / households
        columns = [
            table["median_income"],
            table["housing_median_age"],
            table["total_rooms"] / households,
            np.where(np.isnan(bedrooms), np.nanmedian(bedrooms), bedrooms),
            table["population"],
            table["population"] / households,
            table["latitude"],
            table["longitude"],
        ]
        return np.stack(columns, axis=1), (table["median_house_value"] / 100_000).astype(np.float32)


class Diabetes(TableSet):
    """442 patients with ten unscaled measurements, and the disease progression after one year (Efron et al. 2004).

    >>> len(pyburn.data.sets.Diabetes())  # doctest: +SKIP
    442
    """

    feature_names = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]

    def _read(self, root: Root, download: bool) -> tuple[np.ndarray, np.ndarray]:
        files = _sklearn_file(
            "Diabetes",
            diabetes_data_raw__csv__gz="7fc0ded571454b1982210d3bb43f0aca44eae01a0b8654a3b24022bdb6b38009",
            diabetes_target__csv__gz="8e53f65eb811df43c206f3534bb3af0e5fed213bc37ed6ba36310157d6023803",
        )
        data, target = (read_csv(path, delimiter=" ", header=False) for path in files.locate(root, download))
        return data.numpy(), target.numpy()[:, 0]


class Digits(TableSet):
    """1,797 handwritten digits of 8 x 8 pixels with values from 0 to 16. `data` is (rows, 64), `images` the same as (rows, 8, 8).

    >>> len(pyburn.data.sets.Digits())  # doctest: +SKIP
    1797
    """

    feature_names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    classes = [str(i) for i in range(10)]

    def _read(self, root: Root, download: bool) -> tuple[np.ndarray, np.ndarray]:
        files = _sklearn_file("Digits", digits__csv__gz="09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22")
        rows = read_csv(files.locate(root, download)[0], header=False).numpy()
        if rows.shape[1] != 65:
            raise FormatError(f"[Digits] the file has {rows.shape[1]} columns: expected 65")
        return rows[:, :64], rows[:, 64].astype(np.int64)

    @property
    def images(self) -> Any:
        """The rows as images, (rows, 8, 8)."""
        return self.data.reshape(-1, 8, 8)


class BreastCancer(TableSet):
    """569 tumors with thirty measurements of their cells, malignant (0) or benign (1) (Wisconsin diagnostic).

    >>> len(pyburn.data.sets.BreastCancer())  # doctest: +SKIP
    569
    """

    feature_names = [
        f"{kind} {name}"
        for kind in ("mean", "error of", "worst")
        for name in (
            *("radius", "texture", "perimeter", "area", "smoothness"),
            *("compactness", "concavity", "concave points", "symmetry", "fractal dimension"),
        )
    ]
    classes = ["malignant", "benign"]

    def _read(self, root: Root, download: bool) -> tuple[np.ndarray, np.ndarray]:
        files = _sklearn_file("BreastCancer", breast_cancer__csv="fed3eb72d0575ef6192293f5093c6e801b1476b577d0386bf4455504522172ed")
        path = files.locate(root, download)[0]
        lines = path.read_bytes().split(b"\n", 1)  # the first line has the numbers of rows and columns
        rows = read_csv(lines[-1], header=False).numpy()
        if rows.shape[1] != 31:
            raise FormatError(f"[BreastCancer] the file has {rows.shape[1]} columns: expected 31")
        return rows[:, :30], rows[:, 30].astype(np.int64)
