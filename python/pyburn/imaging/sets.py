"""Segmentation data sets of biomedical images: neuronal membranes in electron microscopy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..data.sets.images import read_picture
from ..data.sets.place import Files, LabelledSet, Resource, Root, raw_github, read_checksums
from ..tensor import from_numpy

_TREE = "zhixuhao/unet", "b45af4d458437d8281cc218a07fd4380818ece4a"


class Membrane(LabelledSet, counted="images"):
    """Electron microscopy of nerve cells (ISBI 2012): 30 images of 512 x 512 with masks of membranes (0) and everything else (1).

    Samples are (image, mask), both (1, 512, 512) uint8. There is no test set with known masks, so the training set is split.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: True for the first 24 images, False for the last 6, None for all.
        transform: Applied to the image.
        target_transform: Applied to the mask.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.

    >>> Membrane("/nowhere", download=False)
    Traceback (most recent call last):
        ...
    pyburn.data.sets.place.DataNotFoundError: ...
    """

    def _load(self, root: Root, download: bool) -> None:
        checksums = read_checksums(Path(__file__).with_name("membrane.sums"))
        resources = tuple(Resource(n, raw_github(*_TREE, f"data/membrane/train/{n}"), c) for n, c in checksums.items())
        files = Files("Membrane", tuple((n,) for n in checksums), ("membrane/train", "Membrane"), resources)
        paths = files.locate(root, download)
        images, masks = paths[:30], paths[30:]
        kept = range(30) if self.train is None else range(24) if self.train else range(24, 30)
        self._pairs = [(images[i], masks[i]) for i in kept]

    def __len__(self) -> int:
        return len(self._pairs)

    def _sample(self, at: int) -> tuple[Any, Any]:
        picture, mask = self._pairs[at]
        return from_numpy(read_picture(picture, "L")[None]), from_numpy((read_picture(mask, "L")[None] > 127).astype(np.uint8))
