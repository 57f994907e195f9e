"""Keras's `utils`: data helpers."""

from __future__ import annotations

import importlib
from typing import Any

from .batches import PyDataset, as_batch
from .configured import public
from .random_seed import set_random_seed as set_random_seed
from .symbolic.symbol import Symbol

Sequence = PyDataset  # the name in Keras 2


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """One-hot encodes class indices.

    Args:
        x: The classes, an array of integers.
        num_classes: The number of classes; by default the largest class plus one.

    Returns:
        An array of float32 with an additional last dimension.

    Raises:
        ValueError: A class is out of range.

    >>> p_vision.utils.to_categorical([0, 2], 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    import numpy

    classes = numpy.asarray(x, dtype=numpy.int64)
    if classes.ndim > 1 and classes.shape[-1] == 1:
        classes = classes[..., 0]
    count = num_classes if num_classes is not None else (int(classes.max()) + 1 if classes.size else 0)
    if classes.size and not 0 <= classes.min() <= classes.max() < count:
        raise ValueError(f"[to_categorical] classes are numbers from 0 to {count - 1}: got {classes.min()} to {classes.max()}")
    return numpy.eye(count, dtype=numpy.float32)[classes]


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """Divides an array by its norm along an axis.

    Args:
        x: The array.
        axis: The axis.
        order: The order of the norm.

    Returns:
        The array.

    >>> p_vision.utils.normalize([[3.0, 4.0]]).tolist()
    [[0.6, 0.8]]
    """
    import numpy

    array = numpy.asarray(x)
    norms = numpy.atleast_1d(numpy.linalg.norm(array, order, axis))
    norms[norms == 0] = 1
    return array / numpy.expand_dims(norms, axis)


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: str = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float = 0.0,
) -> Any:
    """Pads or truncates sequences to the same length.

    Args:
        sequences: The sequences.
        maxlen: The length; by default that of the longest sequence.
        dtype: The dtype of the result.
        padding: Where to pad: "pre" or "post".
        truncating: Where to truncate: "pre" or "post".
        value: The padding value.

    Returns:
        An array (number of sequences, length, ...).

    Raises:
        ValueError: padding or truncating is neither "pre" nor "post".

    >>> p_vision.utils.pad_sequences([[1, 2, 3], [4]], padding="post").tolist()
    [[1, 2, 3], [4, 0, 0]]
    """
    import numpy

    for name, side in (("padding", padding), ("truncating", truncating)):
        if side not in ("pre", "post"):
            raise ValueError(f"[pad_sequences] {name} is 'pre' or 'post': got {side!r}")
    rows = [numpy.asarray(sequence) for sequence in sequences]
    length = maxlen if maxlen is not None else max(map(len, rows), default=0)
    inner = next((row.shape[1:] for row in rows if len(row)), ())
    result = numpy.full((len(rows), length, *inner), value, dtype)
    for target, row in zip(result, rows):
        cut = row[len(row) - min(length, len(row)) :] if truncating == "pre" else row[:length]
        if len(cut):
            place = slice(length - len(cut), length) if padding == "pre" else slice(0, len(cut))
            target[place] = cut
    return result


def split_dataset(
    dataset: Any,
    left_size: float | int | None = None,
    right_size: float | int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
) -> Any:
    """Splits arrays into two parts.

    Args:
        dataset: An array, or a tuple of arrays.
        left_size: The size of the first part: a number of samples (int) or a fraction (float).
        right_size: The size of the second part.
        shuffle: Whether to shuffle the samples first.
        seed: The seed of the shuffling.

    Returns:
        The two parts.

    >>> a, b = p_vision.utils.split_dataset(list(range(10)), left_size=0.8)
    >>> len(a), len(b)
    (8, 2)
    """
    import numpy

    arrays = dataset if isinstance(dataset, tuple) else (dataset,)
    count = len(arrays[0])

    def examples(size: float | int | None) -> int | None:
        return None if size is None else int(size * count) if isinstance(size, float) else size

    left, right = examples(left_size), examples(right_size)
    left = left if left is not None else count - (right or 0)
    chance = numpy.random if seed is None else numpy.random.default_rng(seed)
    order = chance.permutation(count) if shuffle else numpy.arange(count)
    parts = [order[:left], order[left : count if right is None else left + right]]
    found = [tuple(numpy.asarray(array)[part] for array in arrays) for part in parts]
    return tuple(part if isinstance(dataset, tuple) else part[0] for part in found)


def get_file(
    fname: str | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str = "auto",
    cache_dir: Any = None,
    force_download: bool = False,
) -> str:
    """Downloads a file to the cache once; an archive is extracted next to it.

    Args:
        fname: The name of the file; by default from the address.
        origin: The address.
        untar: Whether to extract the archive.
        md5_hash: The MD5 hash of the file.
        file_hash: The hash of the file.
        cache_subdir: The folder in the cache.
        hash_algorithm: Accepted for compatibility: the length of the hash tells it.
        extract: Whether to extract the archive.
        archive_format: Accepted for compatibility: the extension tells it.
        cache_dir: The cache; by default that of pyburn.data.
        force_download: Whether to download again.

    Returns:
        The path of the file, or of the folder of an archive.

    Raises:
        ValueError: There is no address, or the name has folders in it.
    """
    import shutil
    from pathlib import Path

    from pyburn.data.download import cache_folder, download

    if origin is None:
        raise ValueError("[get_file] give the address of the file: origin=...")
    name = fname or origin.rsplit("/", 1)[-1]
    if not name or name in (".", "..") or "/" in name or "\\" in name:
        raise ValueError(f"[get_file] the name of a file has no folders in it: got {name!r}")
    folder = (Path(cache_dir) if cache_dir is not None else cache_folder()) / cache_subdir
    digest = file_hash or md5_hash
    checksum = None if digest is None else f"{'md5' if len(digest) == 32 else 'sha256'}:{digest}"
    if force_download:
        (folder / name).unlink(missing_ok=True)
    path = download(origin, folder / name, checksum)
    if not (untar or extract):
        return str(path)
    target = folder / f"{name}_extracted"
    if not target.exists():
        options: dict[str, Any] = {} if name.endswith(".zip") else {"filter": "data"}  # no member is extracted outside of the folder
        shutil.unpack_archive(path, target, **options)
    return str(target)


class Progbar:
    """A progress bar for custom loops: it shows the means of values over the steps.

    Args:
        target: The number of steps; None if unknown.
        width: Accepted for compatibility.
        verbose: 0, 1 (progress bar) or 2 (one line at the end).
        interval: Accepted for compatibility.
        stateful_metrics: Names of values that are shown as they are, not as means.

    >>> bar = p_vision.utils.Progbar(2, verbose=0)
    >>> bar.update(1, [("loss", 0.5)])
    """

    def __init__(self, target: int | None, width: int = 20, verbose: int = 1, interval: float = 0.05, stateful_metrics: Any = None) -> None:
        from .callbacks.progress import Progress

        self.target, self.stateful_metrics = target, set(stateful_metrics or ())
        self._progress, self._sums, self._seen = Progress(verbose, target), dict[str, list[float]](), 0

    def update(self, current: int, values: Any = None, finalize: bool | None = None) -> None:
        """Sets the number of completed steps.

        Args:
            current: The number of steps.
            values: Pairs (name, value) to show.
            finalize: Whether this is the last update; by default if current is the target.
        """
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._sums[name] = [float(value), 1.0]
            else:
                total = self._sums.setdefault(name, [0.0, 0.0])
                steps = max(current - self._seen, 1)
                total[0] += float(value) * steps
                total[1] += steps
        self._seen = current
        logs = {name: total / count for name, (total, count) in self._sums.items()}
        if finalize or (finalize is None and self.target is not None and current >= self.target):
            self._progress.finish(current, logs)
        elif self._progress.wants(current):
            self._progress.draw(current, logs)

    def add(self, n: int, values: Any = None) -> None:
        self.update(self._seen + n, values)


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """Splits the data of `train_step` into (x, y, sample_weight), with None for missing parts.

    Args:
        data: The data.

    Returns:
        The three parts.

    >>> p_vision.utils.unpack_x_y_sample_weight((1, 2))
    (1, 2, None)
    """
    return as_batch(data)


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Inverse of `unpack_x_y_sample_weight`.

    Args:
        x: The inputs.
        y: The targets.
        sample_weight: The weights.

    Returns:
        A tuple without the missing parts.

    >>> p_vision.utils.pack_x_y_sample_weight(1, 2)
    (1, 2)
    """
    return x if y is None else (x, y) if sample_weight is None else (x, y, sample_weight)


def is_keras_tensor(x: Any) -> bool:
    """Returns whether x is a symbol.

    Args:
        x: The value.

    >>> p_vision.utils.is_keras_tensor(p_vision.Input((2,)))
    True
    """
    return isinstance(x, Symbol)


def standardize_dtype(dtype: Any) -> str:
    """Returns the name of a dtype.

    Args:
        dtype: The dtype, or its name.

    >>> p_vision.utils.standardize_dtype(pyburn.float32)
    'float32'
    """
    return getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]


def clear_session(free_memory: bool = True) -> None:
    """Has no effect: there is no global session.

    Args:
        free_memory: Accepted for compatibility.

    >>> p_vision.utils.clear_session()
    """


_ELSEWHERE = {
    **dict.fromkeys(["image_dataset_from_directory", "text_dataset_from_directory"], "directories"),
    **dict.fromkeys(["array_to_img", "img_to_array", "load_img", "save_img"], "image_files"),
    **dict.fromkeys(
        [
            "CustomObjectScope",
            "custom_object_scope",
            "deserialize_keras_object",
            "get_custom_objects",
            "get_registered_name",
            "get_registered_object",
            "register_keras_serializable",
            "serialize_keras_object",
        ],
        "serialization",
    ),
    **dict.fromkeys(["disable_interactive_logging", "enable_interactive_logging", "is_interactive_logging_enabled"], "config"),
    "timeseries_dataset_from_array": "series",
    "model_to_dot": "plot",
    "plot_model": "plot",
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_ELSEWHERE[name]}", __package__), name)


__all__ = public(globals(), "PyDataset", "Sequence", "set_random_seed", *_ELSEWHERE)
