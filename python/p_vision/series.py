"""Batches of sliding windows over a series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyburn

from .batches import Batch, Batches, as_batch


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

    Returns:
        The batches (windows, targets).

    Raises:
        ValueError: The series is shorter than a window.

    >>> batches = p_vision.utils.timeseries_dataset_from_array(range(6), None, sequence_length=3, batch_size=2)
    >>> [x.tolist() for x, _, _ in batches]
    [[[0, 1, 2], [1, 2, 3]], [[2, 3, 4], [3, 4, 5]]]
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


__all__ = ["timeseries_dataset_from_array"]
