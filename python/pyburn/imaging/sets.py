"""Segmentation data sets of biomedical images: neuronal membranes in electron microscopy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.sets.images import read_picture
from ..data.sets.place import Files, LabelledSet, Resource, Root, raw_github
from ..tensor import from_numpy
from .membrane_files import COMMIT, GIT_NAMES, REPOSITORY


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
        files = Files(
            "Membrane",
            tuple((name,) for name in GIT_NAMES),
            ("membrane/train", "Membrane"),
            tuple(
                Resource(name, raw_github(REPOSITORY, COMMIT, f"data/membrane/train/{name}"), f"git:{git}")
                for name, git in GIT_NAMES.items()
            ),
        )
        paths = files.locate(root, download)
        images, masks = paths[:30], paths[30:]
        kept = range(30) if self.train is None else range(24) if self.train else range(24, 30)
        self._pairs = [(images[i], masks[i]) for i in kept]

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        picture, mask = self._pairs[index]
        image: Any = from_numpy(read_picture(picture, "L")[None])
        target: Any = from_numpy((read_picture(mask, "L")[None] > 127).astype(np.uint8))
        return self._transformed(image, target)
