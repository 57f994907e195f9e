"""Keras's `utils`: data helpers."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pyburn

from .batches import Batch, Batches, PyDataset, as_batch
from .configured import public
from .random_seed import set_random_seed as set_random_seed
from .symbolic.symbol import Symbol

Sequence = PyDataset  # the name in Keras 2


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """One-hot encodes class indices.

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
    """Divides an array by its norm along an axis."""
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


class _Windows(Batches):
    """Batches of sliding windows over a series."""

    def __init__(self, data: Any, targets: Any, starts: Any, steps: Any, batch_size: int | None, shuffle: bool, seed: int | None) -> None:
        self.data, self.targets, self.starts, self.steps_in = data, targets, starts, steps
        self.batch_size, self.shuffle, self.seed = batch_size or len(starts), shuffle, seed
        super().__init__(-(-len(starts) // self.batch_size))

    def __len__(self) -> int:
        return self.steps or 0

    def __iter__(self) -> Iterator[Batch]:
        import numpy

        order = self.starts
        if self.shuffle:
            generator = numpy.random.default_rng(self.seed if self.seed is not None else int(pyburn.randint(0, 2**31, (1,))))
            order = generator.permutation(order)
        for begin in range(0, len(order), self.batch_size):
            first = order[begin : begin + self.batch_size]
            rows = self.data[first[:, None] + self.steps_in[None, :]]
            yield as_batch(rows if self.targets is None else (rows, self.targets[first]))


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
) -> Any:
    """Returns batches of sliding windows over a series.

    Args:
        data: The series; the first dimension is time.
        targets: The target for each start of a window, or None.
        sequence_length: The number of steps in a window.
        sequence_stride: The distance between the starts of windows.
        sampling_rate: The distance between the steps of a window.
        batch_size: The batch size; None for one batch.
        shuffle: Whether to shuffle the windows.
        seed: The seed of the shuffling.
        start_index: The first step to use.
        end_index: The step after the last one to use.
    """
    import numpy

    series = numpy.asarray(data)
    first, last = start_index or 0, len(series) if end_index is None else end_index
    known = None if targets is None else numpy.asarray(targets)
    count = last - first - (sequence_length - 1) * sampling_rate
    if known is not None:
        count = min(count, len(known))
    if count < 1:
        raise ValueError(
            f"[timeseries_dataset_from_array] {last - first} steps hold no window of {sequence_length} at every {sampling_rate}"
        )
    starts = numpy.arange(0, count, sequence_stride)
    steps = numpy.arange(sequence_length) * sampling_rate
    return _Windows(series[first:last], known, starts, steps, batch_size, shuffle, seed)


def split_dataset(
    dataset: Any,
    left_size: float | int | None = None,
    right_size: float | int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
) -> Any:
    """Splits arrays into two parts; sizes are numbers of samples (int) or fractions (float)."""
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
    """Downloads a file to the cache once and returns its path; an archive is extracted next to it, and the path of the folder is
    returned.
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
    """A progress bar for custom loops: `bar.update(step, [("loss", loss)])` shows the means over the steps."""

    def __init__(self, target: int | None, width: int = 20, verbose: int = 1, interval: float = 0.05, stateful_metrics: Any = None) -> None:
        from .callbacks.progress import Progress

        self.target, self.stateful_metrics = target, set(stateful_metrics or ())
        self._progress, self._sums, self._seen = Progress(verbose, target), dict[str, list[float]](), 0

    def update(self, current: int, values: Any = None, finalize: bool | None = None) -> None:
        """Sets the number of completed steps, with pairs (name, value) to show."""
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
    """Splits the data of `train_step` into (x, y, sample_weight), with None for missing parts."""
    return as_batch(data)


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Inverse of `unpack_x_y_sample_weight`."""
    return x if y is None else (x, y) if sample_weight is None else (x, y, sample_weight)


def is_keras_tensor(x: Any) -> bool:
    """Returns whether x is a symbol."""
    return isinstance(x, Symbol)


def standardize_dtype(dtype: Any) -> str:
    """Returns the name of a dtype."""
    return getattr(dtype, "name", None) or str(dtype).rpartition(".")[2]


def clear_session(free_memory: bool = True) -> None:
    """Has no effect: there is no global session."""


_ELSEWHERE = {
    **dict.fromkeys(
        ["array_to_img", "image_dataset_from_directory", "img_to_array", "load_img", "save_img", "text_dataset_from_directory"],
        "directories",
    ),
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
    "model_to_dot": "plot",
    "plot_model": "plot",
}


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_ELSEWHERE[name]}", __package__), name)


__all__ = public(globals(), "PyDataset", "Sequence", "set_random_seed", *_ELSEWHERE)
