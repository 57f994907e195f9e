"""Batches of images and texts from class folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyburn

from .image_files import img_to_array, load_img

_PICTURES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")


class StreamedBatches:
    """Batches that are computed while iterating: those of another source, changed. Keras calls such a thing a dataset."""

    def __init__(self, source: Any, change: Callable[[Iterator[Any]], Iterator[Any]] | None = None, steps: int | None = None) -> None:
        self.source, self.change, self.steps = source, change, source.steps if steps is None else steps

    def __getattr__(self, name: str) -> Any:
        if name in ("class_names", "file_paths"):
            return getattr(self.source, name)
        raise AttributeError(f"batches have no {name!r}")

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Any]:
        return iter(self.source) if self.change is None else self.change(iter(self.source))

    def map(self, function: Callable[..., Any], num_parallel_calls: Any = None) -> StreamedBatches:
        """Applies a function of (x), (x, y) or (x, y, weight) to each batch."""

        def changed(source: Iterator[Any]) -> Iterator[Any]:
            with pyburn.no_grad():
                for item in source:
                    yield function(*item) if isinstance(item, tuple) else function(item)

        return StreamedBatches(self, changed)

    def take(self, count: int) -> StreamedBatches:
        """Returns the first `count` batches."""
        return StreamedBatches(self, lambda source: islice(source, count), min(count, self.steps))

    def skip(self, count: int) -> StreamedBatches:
        """Skips the first `count` batches."""
        return StreamedBatches(self, lambda source: islice(source, count, None), max(self.steps - count, 0))

    def cache(self, *args: Any) -> StreamedBatches:
        """Caches the batches in memory during the first pass."""
        kept: list[Any] = []

        def cached(source: Iterator[Any]) -> Iterator[Any]:
            if kept:
                yield from kept
                return
            seen = []
            for item in source:
                seen.append(item)
                yield item
            kept.extend(seen)

        return StreamedBatches(self, cached)

    def prefetch(self, *args: Any) -> StreamedBatches:
        """Has no effect, like `shuffle`: files are shuffled when they are read."""
        return self

    def shuffle(self, *args: Any, **options: Any) -> StreamedBatches:
        return self


class DirectoryBatches(StreamedBatches):
    """The result of `image_dataset_from_directory` and `text_dataset_from_directory`: batches that are read while iterating."""

    def __init__(
        self,
        examples: list[tuple[str, Any]],
        read: Callable[[str], Any],
        batch_size: int | None,
        shuffle: bool,
        seed: int | None,
        names: list[str],
    ) -> None:
        self.examples, self.read, self.batch_size, self.shuffled, self.seed = examples, read, batch_size, shuffle, seed
        self.class_names, self.file_paths = names, [path for path, _ in examples]
        self._epoch = 0
        self.steps = -(-len(examples) // batch_size) if batch_size else len(examples)

    def __iter__(self) -> Iterator[Any]:
        import numpy

        order: Any = range(len(self.examples))
        if self.shuffled:
            seed = None if self.seed is None else [self.seed, self._epoch]
            order = numpy.random.default_rng(seed if seed is not None else int(pyburn.randint(0, 2**31, (1,)))).permutation(
                len(self.examples)
            )
            self._epoch += 1
        size = self.batch_size or 1
        for start in range(0, len(order), size):
            chosen = [self.examples[i] for i in order[start : start + size]]
            x: Any = numpy.stack([self.read(path) for path, _ in chosen])
            y: Any = None if chosen[0][1] is None else numpy.stack([label for _, label in chosen])
            x = x if x.dtype.kind == "U" else pyburn.from_numpy(x)
            y = None if y is None else pyburn.from_numpy(y)
            if not self.batch_size:
                x, y = x[0], None if y is None else y[0]
            yield x if y is None else (x, y)


def _examples(
    what: str, directory: Any, labels: Any, label_mode: str | None, class_names: Any, endings: tuple[str, ...]
) -> tuple[list[tuple[str, Any]], list[str]]:
    import numpy

    root = Path(directory)
    if not root.is_dir():
        raise FileNotFoundError(f"[{what}] there is no folder {os.fspath(directory)!r}")
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError(f"[{what}] label_mode is 'int', 'categorical', 'binary' or None: got {label_mode!r}")
    inferred = labels == "inferred"
    names = list(class_names) if class_names is not None else sorted(p.name for p in root.iterdir() if p.is_dir()) if inferred else []
    folders = [(root / name, number) for number, name in enumerate(names)] if inferred else [(root, 0)]
    found = [
        (str(path), number)
        for folder, number in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in endings and path.is_file()
    ]
    if not found:
        raise ValueError(f"[{what}] no files that end in {', '.join(endings)} in {os.fspath(directory)!r}")
    classes = [number for _, number in found] if inferred else list(labels) if labels is not None else [0] * len(found)
    if len(classes) != len(found):
        raise ValueError(f"[{what}] {len(classes)} labels for {len(found)} files")
    if label_mode is None or labels is None:
        targets: list[Any] = [None] * len(found)
    elif label_mode == "int":
        targets = [numpy.int32(number) for number in classes]
    elif label_mode == "binary":
        targets = [numpy.asarray([number], numpy.float32) for number in classes]
    else:
        targets = list(numpy.eye(max(len(names), max(classes) + 1), dtype=numpy.float32)[classes])
    return [(path, target) for (path, _), target in zip(found, targets)], names


def _part(what: str, examples: list[Any], split: float | None, subset: str | None, shuffle: bool, seed: int | None) -> Any:
    """Returns the samples of a subset; a pair for "both"."""
    import numpy

    if (split is None) != (subset is None):
        raise ValueError(f"[{what}] validation_split and subset are given together")
    if split is None:
        return examples
    if subset not in ("training", "validation", "both"):
        raise ValueError(f"[{what}] subset is 'training', 'validation' or 'both': got {subset!r}")
    if shuffle and seed is None:
        raise ValueError(f"[{what}] with validation_split and shuffle a seed is needed, or the two parts would overlap")
    order = numpy.random.RandomState(seed).permutation(len(examples)) if shuffle else numpy.arange(len(examples))
    at = len(examples) - int(split * len(examples))
    parts = [examples[i] for i in order[:at]], [examples[i] for i in order[at:]]
    return parts if subset == "both" else parts[0] if subset == "training" else parts[1]


def image_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    color_mode: str = "rgb",
    batch_size: int | None = 32,
    image_size: Sequence[int] = (256, 256),
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    interpolation: str = "bilinear",
    follow_links: bool = False,
    crop_to_aspect_ratio: bool = False,
    data_format: str | None = None,
    verbose: bool = True,
) -> Any:
    """Reads images from one folder per class as batches (x, y).

    Args:
        directory: The folder.
        labels: "inferred" from the folders, None, or a list of labels.
        label_mode: How labels are encoded: "int", "categorical", "binary", or None for no labels.
        class_names: The class folders, in the order of their labels.
        color_mode: "grayscale", "rgb" or "rgba".
        batch_size: The batch size; None for single samples.
        image_size: The size (height, width) of the images.
        shuffle: Whether to shuffle the samples.
        seed: The seed of the shuffling and the split.
        validation_split: The fraction of the samples in the validation subset.
        subset: "training", "validation" or "both", which returns two objects.
        interpolation: The resampling method.
        follow_links: Accepted for compatibility; has no effect.
        crop_to_aspect_ratio: Crops images to the aspect ratio before resizing.
        data_format: "channels_last" or "channels_first".
        verbose: Whether to print the number of files.

    Returns:
        The batches; x has values from 0 to 255.

    Raises:
        FileNotFoundError: There is no such folder.
        ValueError: An option has an unknown value, or there are no images.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("cats", "dogs"):
    ...     os.mkdir(os.path.join(folder, name))
    ...     p_vision.utils.save_img(os.path.join(folder, name, "0.png"), pyburn.rand(8, 8, 3))
    >>> batches = p_vision.utils.image_dataset_from_directory(folder, image_size=(8, 8), shuffle=False)
    Found 2 files belonging to 2 classes.
    >>> [(x.shape, y.tolist()) for x, y in batches]
    [(pyburn.Size([2, 8, 8, 3]), [0, 1])]
    """
    examples, names = _examples("image_dataset_from_directory", directory, labels, label_mode, class_names, _PICTURES)

    def read(path: str) -> Any:
        return img_to_array(load_img(path, color_mode, image_size, interpolation, crop_to_aspect_ratio), data_format)

    return _datasets(examples, read, batch_size, shuffle, seed, names, validation_split, subset, "image_dataset_from_directory", verbose)


def text_dataset_from_directory(
    directory: Any,
    labels: Any = "inferred",
    label_mode: str | None = "int",
    class_names: Sequence[str] | None = None,
    batch_size: int | None = 32,
    max_length: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    follow_links: bool = False,
    verbose: bool = True,
) -> Any:
    """Reads text files (.txt) from one folder per class as batches (x, y), where x is an array of strings for `TextVectorization`.

    Args:
        directory: The folder.
        labels: "inferred" from the folders, None, or a list of labels.
        label_mode: How labels are encoded: "int", "categorical", "binary", or None for no labels.
        class_names: The class folders, in the order of their labels.
        batch_size: The batch size; None for single samples.
        max_length: The number of characters to read of each file; None for all.
        shuffle: Whether to shuffle the samples.
        seed: The seed of the shuffling and the split.
        validation_split: The fraction of the samples in the validation subset.
        subset: "training", "validation" or "both", which returns two objects.
        follow_links: Accepted for compatibility; has no effect.
        verbose: Whether to print the number of files.

    Returns:
        The batches.

    Raises:
        FileNotFoundError: There is no such folder.
        ValueError: An option has an unknown value, or there are no files.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("bad", "good"):
    ...     os.mkdir(os.path.join(folder, name))
    ...     with open(os.path.join(folder, name, "0.txt"), "w") as file:
    ...         _ = file.write(f"a {name} film")
    >>> batches = p_vision.utils.text_dataset_from_directory(folder, shuffle=False)
    Found 2 files belonging to 2 classes.
    >>> [(x.tolist(), y.tolist()) for x, y in batches]
    [(['a bad film', 'a good film'], [0, 1])]
    """
    examples, names = _examples("text_dataset_from_directory", directory, labels, label_mode, class_names, (".txt",))

    def read(path: str) -> Any:
        import numpy

        return numpy.asarray(Path(path).read_text(encoding="utf-8", errors="replace")[:max_length])

    return _datasets(examples, read, batch_size, shuffle, seed, names, validation_split, subset, "text_dataset_from_directory", verbose)


def _datasets(
    examples: Any, read: Any, batch_size: Any, shuffle: bool, seed: Any, names: list[str], split: Any, subset: Any, what: str, verbose: bool
) -> Any:
    if verbose:
        print(f"Found {len(examples)} files belonging to {len(names)} classes.")
    part = _part(what, examples, split, subset, shuffle, seed)
    if verbose and split is not None:
        halves = part if subset == "both" else [part] * 2
        for name, half in zip(("training", "validation"), halves):
            if subset in (name, "both"):
                print(f"Using {len(half)} files for {name}.")
    if subset == "both":
        return tuple(DirectoryBatches(half, read, batch_size, shuffle, seed, names) for half in part)
    return DirectoryBatches(part, read, batch_size, shuffle, seed, names)


__all__ = ["image_dataset_from_directory", "text_dataset_from_directory"]
