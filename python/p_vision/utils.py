"""Keras's `utils`: helpers around data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyburn

from .batches import Batch, Batches, PyDataset, as_batch
from .random_seed import set_random_seed


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Classes as rows of zeros with a one.

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
    """An array divided by its norms along an axis."""
    import numpy

    array = numpy.asarray(x)
    norms = numpy.atleast_1d(numpy.linalg.norm(array, order, axis))
    norms[norms == 0] = 1
    return array / numpy.expand_dims(norms, axis)


def pad_sequences(
    sequences: Sequence[Sequence[Any]],
    maxlen: int | None = None,
    dtype: str = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float = 0.0,
) -> Any:
    """Sequences of different lengths as one array: short ones get `value`, long ones are cut, in front ("pre") or behind ("post")."""
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
    """Windows of a series, batch by batch."""

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
    """Windows of `sequence_length` steps of a series, every `sampling_rate`-th step, with the target of the step where each begins."""
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


def split_dataset(dataset: Any, left_size: float | int | None = None, right_size: float | int | None = None, shuffle: bool = False) -> Any:
    """Arrays in two parts: sizes are numbers of examples, or shares of all."""
    import numpy

    arrays = dataset if isinstance(dataset, tuple) else (dataset,)
    count = len(arrays[0])

    def examples(size: float | int | None) -> int | None:
        return None if size is None else int(size * count) if isinstance(size, float) else size

    left, right = examples(left_size), examples(right_size)
    left = left if left is not None else count - (right or 0)
    order = numpy.random.permutation(count) if shuffle else numpy.arange(count)
    parts = [order[:left], order[left : count if right is None else left + right]]
    found = [tuple(numpy.asarray(array)[part] for array in arrays) for part in parts]
    return tuple(part if isinstance(dataset, tuple) else part[0] for part in found)


__all__ = [
    "PyDataset",
    "normalize",
    "pad_sequences",
    "set_random_seed",
    "split_dataset",
    "timeseries_dataset_from_array",
    "to_categorical",
]
