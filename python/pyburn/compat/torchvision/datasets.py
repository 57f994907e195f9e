"""torchvision.datasets: the named sets of pyburn.data with images of Pillow, as torchvision's have."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from ..absent import absent

sets: Any = importlib.import_module("pyburn.data.sets")
_OPTION = Callable[[Any], Any] | None
_FILES = ("cifar", "fakedata", "folder", "mnist", "vision")  # where torchvision has them: all are here


class _PillowImages:
    """Images as Pillow has them. The files are looked for in `root`, then where pyburn keeps its sets, before any download."""

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        train: bool = True,
        transform: _OPTION = None,
        target_transform: _OPTION = None,
        download: bool = False,
    ) -> None:
        options = {"train": train, "transform": transform, "target_transform": target_transform}
        places = ((root, False), (None, False), (root, True)) if download else ((root, False), (None, False))
        for place, fetch in places:
            try:
                super().__init__(place, download=fetch, **options)  # type: ignore[call-arg]
                return
            except sets.DataNotFoundError as error:
                problem = error
        raise RuntimeError(f"Dataset not found. You can use download=True to download it ({problem})")

    def image(self, index: int) -> Any:
        from PIL import Image

        image = super().image(index)  # type: ignore[misc]
        return Image.fromarray(image[0].numpy() if image.shape[0] == 1 else image.permute(1, 2, 0).contiguous().numpy())


class MNIST(_PillowImages, sets.MNIST):
    """Handwritten digits."""


class FashionMNIST(_PillowImages, sets.FashionMNIST):
    """Pictures of clothes."""


class CIFAR10(_PillowImages, sets.CIFAR10):
    """Small photographs of ten kinds."""


def __getattr__(name: str) -> Any:
    if name in ("DatasetFolder", "ImageFolder"):
        return getattr(importlib.import_module("pyburn.data"), name)
    if name.startswith("__"):
        raise AttributeError(f"module 'torchvision.datasets' has no attribute {name!r}")
    if name in ("default_loader", "pil_loader"):
        return importlib.import_module("pyburn.data.image_files").load_image
    if name == "IMG_EXTENSIONS":
        return importlib.import_module("pyburn.data.image_folder").IMG_EXTENSIONS
    if name == "utils":
        return importlib.import_module("torchvision.datasets.utils")
    if name in _FILES:
        return sys.modules[__name__]
    return absent(f"torchvision.datasets.{name}")


class FakeData:
    """Random images and classes; the same ones for the same number."""

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: _OPTION = None,
        target_transform: _OPTION = None,
        random_offset: int = 0,
    ) -> None:
        self.size, self.image_size, self.num_classes, self.random_offset = size, image_size, num_classes, random_offset
        self.transform, self.target_transform = transform, target_transform

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"FakeData index out of range: got {index}")
        import numpy
        from PIL import Image

        numbers = numpy.random.default_rng(index + self.random_offset)
        channels, height, width = self.image_size
        # What torchvision does with normal numbers when it makes bytes of them: they wrap around.
        noise = (numbers.standard_normal((height, width, channels)) * 255).astype(numpy.int64).astype(numpy.uint8)
        image: Any = Image.fromarray(noise[..., 0] if channels == 1 else noise)
        target: Any = int(numbers.integers(0, self.num_classes))
        image = image if self.transform is None else self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)
