"""Image data sets: MNIST, Fashion-MNIST, CIFAR-10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...tensor import from_numpy
from ..files import FormatError, read_idx, read_pickled_arrays
from ..image_files import named_errors, pillow
from ..unpack import unpack_members
from .place import Files, LabelledSet, Resource, Root, search_places


class ImageSet(LabelledSet):
    """Base class of image classification data sets, with torchvision's attributes. Samples are (image, class index).

    With a transform, images are passed as Pillow images, as in torchvision. Without one, images are uint8 tensors (channels, height,
    width), which a loader can batch.

    Attributes:
        data: The images.
        targets: The class indices.
        classes: The class names.
        class_to_idx: The class index by name.

    >>> pyburn.data.sets.MNIST(train=True).data.shape  # doctest: +SKIP
    pyburn.Size([60000, 28, 28])
    """

    classes: list[str]

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The index of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def pixels(self, index: int) -> np.ndarray:
        """Returns an image as a uint8 array (height, width) or (height, width, channels).

        Args:
            index: The index of the image.
        """
        raise NotImplementedError

    def _sample(self, at: int) -> tuple[Any, Any]:
        pixels, target = self.pixels(at), int(self.targets[at])
        if self.transform is not None:
            return pillow().fromarray(pixels), target
        return from_numpy(np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1))), target

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} images, {len(self.classes)} classes)"


def _idx_files(name: str, folders: tuple[str, ...], mirrors: tuple[str, ...], checksums: dict[str, str], train: bool) -> Files:
    kinds = [f"{'train' if train else 't10k'}-{part}" for part in ("images-idx3-ubyte", "labels-idx1-ubyte")]
    resources = tuple(
        Resource(f"{kind}.gz", tuple(f"{mirror}/{kind}.gz" for mirror in mirrors), f"sha256:{checksums[kind]}") for kind in kinds
    )
    return Files(name, tuple((kind, f"{kind}.gz") for kind in kinds), folders, resources)


class MNIST(ImageSet):
    """Handwritten digits, 28 x 28: 60,000 training and 10,000 test images. `data` is (n, 28, 28) uint8, `targets` (n,) int64.

    Args:
        root: The folder of the files, or of MNIST/raw as created by torchvision; None searches PYBURN_DATA and the cache, which is where
            files are downloaded to.
        train: Whether to load the training set or the test set.
        transform: Applied to the image, a Pillow image.
        target_transform: Applied to the class index.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.
        FormatError: A file is damaged.

    >>> len(pyburn.data.sets.MNIST(train=False))  # doctest: +SKIP
    10000
    """

    classes = ["0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"]
    folders: tuple[str, ...] = ("MNIST/raw", "mnist", "MNIST")
    # The second mirror of torchvision/datasets/mnist.py (the first one is down).
    mirrors: tuple[str, ...] = ("https://ossci-datasets.s3.amazonaws.com/mnist",)
    # pytorch/vision, commit 1ec2509, torchvision/prototype/datasets/_builtin/mnist.py.
    checksums = {
        "train-images-idx3-ubyte": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "train-labels-idx1-ubyte": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "t10k-images-idx3-ubyte": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "t10k-labels-idx1-ubyte": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    }
    packaged: tuple[Path, ...] = ()

    def _load(self, root: Root, download: bool) -> None:
        files = _idx_files(type(self).__name__, self.folders, self.mirrors, self.checksums, bool(self.train))
        images, labels = (read_idx(path) for path in files.locate(root, download, self.packaged if root is None else ()))
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels) or images.dtype != np.uint8 or labels.dtype != np.uint8:
            raise FormatError(f"[{type(self).__name__}] {images.shape} images, but {labels.shape} labels")
        self.data, self.targets = from_numpy(images), from_numpy(labels.astype(np.int64))

    def pixels(self, index: int) -> np.ndarray:
        return self.data[index].numpy()


class FashionMNIST(MNIST):
    """Images of clothing in the format of MNIST, with the same arguments.

    Uses Debian's package dataset-fashion-mnist if it is installed.

    >>> pyburn.data.sets.FashionMNIST().classes[0]  # doctest: +SKIP
    'T-shirt/top'
    """

    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
    folders = ("FashionMNIST/raw", "fashion_mnist", "fashion-mnist", "FashionMNIST")
    # torchvision/datasets/mnist.py.
    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",)
    # pytorch/vision, commit 1ec2509, torchvision/prototype/datasets/_builtin/mnist.py.
    checksums = {
        "train-images-idx3-ubyte": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    }
    packaged = (Path("/usr/share/datasets/fashion-mnist"),)


_BATCHES = [f"data_batch_{i}" for i in range(1, 6)]


def _unpack_cifar(folder: Path) -> None:
    members = {f"cifar-10-batches-py/{name}": name for name in (*_BATCHES, "test_batch")}
    unpack_members(folder / "cifar-10-python.tar.gz", folder, members, largest=64 << 20)


class CIFAR10(ImageSet):
    """Color images of ten classes, 32 x 32: 50,000 training and 10,000 test images. `data` is (n, 32, 32, 3) uint8, `targets` a list.

    Besides the original files, image folders by class (train/cat/0001.jpg) are supported, which need Pillow.

    Args:
        root: The folder of the files; None searches PYBURN_DATA and the cache.
        train: Whether to load the training set or the test set.
        transform: Applied to the image, a Pillow image.
        target_transform: Applied to the class index.
        download: Whether to download missing files.

    Raises:
        DataNotFoundError: The files are missing and are not downloaded.
        FormatError: A file is damaged.

    >>> len(pyburn.data.sets.CIFAR10(train=True))  # doctest: +SKIP
    50000
    """

    classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]

    def _load(self, root: Root, download: bool) -> None:
        pictures = self._pictures(root)
        if pictures is not None:
            self.data, self.targets = self._from_pictures(pictures)
            return
        files = Files(
            "CIFAR10",
            tuple((name,) for name in (_BATCHES if self.train else ["test_batch"])),
            ("cifar-10-batches-py", "CIFAR10/cifar-10-batches-py"),
            # URL and checksum from keras-team/keras, commit 7e4b17c, keras/src/datasets/cifar10.py.
            (
                Resource(
                    "cifar-10-python.tar.gz",
                    ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
                    "sha256:6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                ),
            ),
            unpack=_unpack_cifar,
        )
        parts, self.targets = [], []
        for path in files.locate(root, download):
            pixels, labels = self._batch(path)
            parts.append(pixels)
            self.targets.extend(labels)
        self.data = np.ascontiguousarray(np.concatenate(parts).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))

    def pixels(self, index: int) -> np.ndarray:
        return self.data[index]

    def _pictures(self, root: Root) -> Path | None:
        part = "train" if self.train else "test"
        for place in search_places(root):
            for folder in (place, place / "cifar10_folder", place / "CIFAR10"):
                if all((folder / part / name).is_dir() for name in self.classes):
                    return folder / part
        return None

    def _from_pictures(self, folder: Path) -> tuple[np.ndarray, list[int]]:
        pixels, targets = [], []
        for label, name in enumerate(self.classes):
            for path in sorted((folder / name).iterdir()):
                picture = read_picture(path, "RGB")
                if picture.shape != (32, 32, 3):
                    raise FormatError(f"[CIFAR10] {path.name} has the shape {picture.shape}: expected (32, 32, 3)")
                pixels.append(picture)
                targets.append(label)
        return np.stack(pixels) if pixels else np.zeros((0, 32, 32, 3), np.uint8), targets

    @staticmethod
    def _batch(path: Path) -> tuple[np.ndarray, list[int]]:
        content = read_pickled_arrays(path)
        pixels = content.get("data") if isinstance(content, dict) else None
        labels = content.get("labels") if isinstance(content, dict) else None
        if (
            not isinstance(pixels, np.ndarray)
            or not isinstance(labels, list)
            or pixels.shape != (len(labels), 3072)
            or pixels.dtype != np.uint8
        ):
            raise FormatError(f"[CIFAR10] {path.name} does not hold images and labels")
        if not all(isinstance(label, int) and 0 <= label < 10 for label in labels):
            raise FormatError(f"[CIFAR10] {path.name} has a label that is no class")
        return pixels, labels


def read_picture(path: Path, mode: str) -> np.ndarray:
    """Reads an image with Pillow as an array.

    Raises:
        FormatError: The file is not an image that Pillow can read.
    """
    with named_errors(path), pillow().open(path) as picture:
        return np.array(picture.convert(mode))
