"""Image folders: torchvision's DatasetFolder and ImageFolder, and Burn's image data set with annotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..tensor.creation import tensor
from .coco import read_coco
from .dataset import Dataset
from .image_files import load_image, load_mask

if TYPE_CHECKING:
    from .._core import Tensor

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

Transform = Callable[[Any], Any]
PathLike = str | os.PathLike[str]


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Returns whether a file name ends in one of the extensions, ignoring case.

    >>> has_file_allowed_extension("a.JPG", IMG_EXTENSIONS)
    True
    """
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


class DatasetFolder(Dataset[tuple[Any, Any]]):
    """Data set of files in one folder per class: `root/class/.../file`. Samples are (loaded file, class index).

    Args:
        root: The folder of the class folders.
        loader: Loads a file, given its path.
        extensions: The file extensions to include. Give either this or is_valid_file.
        transform: Applied to the loaded file.
        target_transform: Applied to the class index.
        is_valid_file: Called with a path; returns whether to include the file.
        allow_empty: Whether classes without files are allowed.

    Raises:
        FileNotFoundError: There is no class folder, or a class has no files.
        ValueError: Not exactly one of extensions and is_valid_file is given.

    >>> folder = pyburn.data.DatasetFolder("data/train", loader=numpy.load, extensions=(".npy",))  # doctest: +SKIP
    """

    def __init__(
        self,
        root: PathLike,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        self.root = os.path.expanduser(root)
        self.transform = transform
        self.target_transform = target_transform
        self.loader = loader
        self.extensions = extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]

    def find_classes(self, directory: PathLike) -> tuple[list[str], dict[str, int]]:
        """Returns the sorted class names and their indices; subclasses may override it.

        Args:
            directory: The folder, with one subfolder per class.

        Raises:
            FileNotFoundError: There is no subfolder.
        """
        classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
        if not classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {os.fspath(directory)}.")
        return classes, {name: number for number, name in enumerate(classes)}

    @staticmethod
    def make_dataset(
        directory: PathLike,
        class_to_idx: dict[str, int] | None,
        extensions: str | tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """Returns the sorted files of each class, with their class index.

        Args:
            directory: The folder, with one subfolder per class.
            class_to_idx: The class index by name.
            extensions: The file extensions to include.
            is_valid_file: Called with a path; returns whether to include the file.
            allow_empty: Whether classes may be without files.

        Raises:
            ValueError: class_to_idx is empty, or both or none of extensions and is_valid_file are given.
            FileNotFoundError: A class has no files.
        """
        if not class_to_idx:
            raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
        if (extensions is None) == (is_valid_file is None):
            raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
        directory = os.path.expanduser(directory)
        samples, found = [], set()
        for name in sorted(class_to_idx):
            for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
                for file in sorted(files):
                    path = os.path.join(folder, file)
                    valid = is_valid_file(path) if is_valid_file else has_file_allowed_extension(path, extensions or ())
                    if valid:
                        samples.append((path, class_to_idx[name]))
                        found.add(name)
        empty = sorted(set(class_to_idx) - found)
        if empty and not allow_empty:
            message = f"Found no valid file for the classes {', '.join(empty)}. "
            if extensions is not None:
                message += f"Supported extensions are: {extensions if isinstance(extensions, str) else ', '.join(extensions)}"
            raise FileNotFoundError(message)
        return samples

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        return sample, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        return len(self.samples)

    def __repr__(self) -> str:
        lines = [f"Dataset {type(self).__name__}", f"    Number of datapoints: {len(self)}", f"    Root location: {self.root}"]
        for name, transform in (("Transform", self.transform), ("Target transform", self.target_transform)):
            if transform is not None:
                lines.append(f"    {name}: " + repr(transform).replace("\n", "\n" + " " * (len(name) + 6)))
        return "\n".join(lines)


class ImageFolder(DatasetFolder):
    """Data set of images in one folder per class, read by Pillow as RGB. Samples are (image, class index).

    Arguments as for DatasetFolder.

    Args:
        root: The folder, with one subfolder per class.
        transform: Called with each image.
        target_transform: Called with each class index.
        loader: Reads an image from a path.
        is_valid_file: Returns whether a file belongs to the data set.
        allow_empty: Whether classes without images are allowed.

    >>> image, label = pyburn.data.ImageFolder("data/train")[0]  # doctest: +SKIP
    """

    def __init__(
        self,
        root: PathLike,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Callable[[str], Any] = load_image,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples


class ImageFolderDataset(Dataset[tuple[Any, Any]]):
    """Images with annotations: a class, several classes, boxes, or a mask. Use one of the class methods, as in Burn.

    Args:
        items: Pairs of an image path and its annotation.
        annotate: Converts an annotation to a target.
        classes: The class names.
        transform: Applied to the image.
        transforms: Applied to (image, target), to transform both consistently, such as an image and its mask.

    >>> image, label = pyburn.data.ImageFolderDataset([("cat.jpg", "cat")], lambda name: 0, ["cat"])[0]  # doctest: +SKIP
    """

    def __init__(
        self,
        items: Iterable[tuple[PathLike, Any]],
        annotate: Callable[[Any], Any],
        classes: Sequence[str],
        transform: Transform | None = None,
        transforms: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    ) -> None:
        self.items = [(os.fspath(path), annotation) for path, annotation in items]
        self.classes = list(classes)
        self.transform = transform
        self.transforms = transforms
        self._annotate = annotate

    @classmethod
    def classification(cls, root: PathLike, extensions: tuple[str, ...] = IMG_EXTENSIONS, **options: Any) -> ImageFolderDataset:
        """Creates a data set from one folder per class, like ImageFolder.

        Args:
            root: The folder, with one subfolder per class.
            extensions: The file extensions of images.
            **options: Options of the class.

        Returns:
            The data set.
        """
        folder = DatasetFolder(root, load_image, extensions)
        return cls(folder.samples, int, folder.classes, **options)

    @classmethod
    def classification_items(cls, items: Iterable[tuple[PathLike, str]], classes: Sequence[str], **options: Any) -> ImageFolderDataset:
        """Creates a data set from pairs of an image path and a class name. Targets are class indices.

        Args:
            items: Pairs of an image file and its class.
            classes: The names of the classes.
            **options: Options of the class.

        Returns:
            The data set.
        """
        numbers = _numbers(classes)
        checked = [(path, _number(numbers, name)) for path, name in items]
        return cls(checked, int, classes, **options)

    @classmethod
    def multilabel(cls, items: Iterable[tuple[PathLike, Sequence[str]]], classes: Sequence[str], **options: Any) -> ImageFolderDataset:
        """Creates a data set from pairs of an image path and class names. Targets are multi-hot float32 vectors.

        Args:
            items: Pairs of an image file and its classes.
            classes: The names of the classes.
            **options: Options of the class.

        Returns:
            The data set.
        """
        numbers = _numbers(classes)
        checked = [(path, [_number(numbers, name) for name in names]) for path, names in items]
        return cls(checked, _ManyHot(len(numbers)), classes, **options)

    @classmethod
    def segmentation(cls, items: Iterable[tuple[PathLike, PathLike]], classes: Sequence[str] = (), **options: Any) -> ImageFolderDataset:
        """Creates a data set from pairs of an image path and a mask path, where mask pixels are class indices.

        Targets are single-channel Pillow images; use `PILToTensor` or `pil_to_tensor` to convert them.

        Args:
            items: Pairs of an image file and a mask file.
            classes: The names of the classes.
            **options: Options of the class.

        Returns:
            The data set.
        """
        return cls([(image, os.fspath(mask)) for image, mask in items], load_mask, classes, **options)

    @classmethod
    def coco_detection(cls, annotations: PathLike, images: PathLike, **options: Any) -> ImageFolderDataset:
        """Creates a data set from a COCO annotation file and the folder of its images.

        Targets are {"boxes": (n, 4) as x, y, width, height, "labels": (n,) class indices}. Classes are the categories in the order of their
        ids.

        Args:
            annotations: The JSON file of annotations.
            images: The folder of images.
            **options: Options of the class.

        Returns:
            The data set.
        """
        items, classes = read_coco(annotations, images)
        return cls(items, _boxes, classes, **options)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, annotation = self.items[index]
        image, target = load_image(path), self._annotate(annotation)
        if self.transform is not None:
            image = self.transform(image)
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        where = Path(os.path.commonpath([path for path, _ in self.items])) if self.items else ""
        return f"{type(self).__name__}({len(self)} images in {where}, {len(self.classes)} classes)"


def _boxes(annotation: tuple[list[list[float]], list[int]]) -> dict[str, Tensor]:
    boxes, labels = annotation
    return {"boxes": tensor(boxes, dtype=_core.float32).reshape(-1, 4), "labels": tensor(labels, dtype=_core.int64)}


class _ManyHot:
    """Converts class indices to a multi-hot vector."""

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def __call__(self, numbers: Sequence[int]) -> Tensor:
        chosen = set(numbers)
        return tensor([float(i in chosen) for i in range(self.classes)], dtype=_core.float32)


def _numbers(classes: Sequence[str]) -> dict[str, int]:
    numbers = {name: number for number, name in enumerate(classes)}
    if len(numbers) != len(classes):
        raise ValueError(f"expected classes with different names: got {list(classes)}")
    return numbers


def _number(numbers: dict[str, int], name: str) -> int:
    if name not in numbers:
        raise ValueError(f"expected one of the classes {sorted(numbers)}: got {name!r}")
    return numbers[name]
