"""Sequences of different length as one tensor, and long ones as many short ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._core import Tensor
from ...tensor import from_numpy
from ..dataset import Dataset


def pad_batch(
    sequences: Sequence[Sequence[int]], padding: int = 0, max_length: int | None = None, left: bool = False
) -> tuple[Tensor, Tensor]:
    """Numbers (batch, longest) as int64, and which of them are padding (True), as `key_padding_mask` of attention wants it.

    `max_length` cuts longer sequences; `left` puts the padding before them.

    >>> pad_batch([[1, 2, 3], [4]])
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([[False, False, False],
            [False,  True,  True]]))
    """
    if max_length is not None:
        sequences = [sequence[-max_length:] if left else sequence[:max_length] for sequence in sequences]
    longest = max((len(sequence) for sequence in sequences), default=0)
    numbers = np.full((len(sequences), longest), padding, np.int64)
    mask = np.ones((len(sequences), longest), bool)
    for i, sequence in enumerate(sequences):
        place = slice(longest - len(sequence), None) if left else slice(0, len(sequence))
        numbers[i, place] = sequence
        mask[i, place] = False
    return from_numpy(numbers), from_numpy(mask)


def length_batches(lengths: Sequence[int], batch_size: int, seed: int | None = 0) -> Iterator[list[int]]:
    """Batches of numbers of sequences that are about equally long, so that little is padded; shuffled with a seed, in order with None."""
    if batch_size < 1:
        raise ValueError(f"[batches] batch_size must be positive: got {batch_size}")
    order = np.argsort(np.asarray(lengths), kind="stable")
    starts = np.arange(0, len(order), batch_size)
    if seed is not None:
        rng = np.random.default_rng(seed)
        # Equally long ones change places, and so do the batches.
        order = order[np.lexsort((rng.random(len(order)), np.asarray(lengths)[order]))]
        rng.shuffle(starts)
    for start in starts.tolist():
        yield order[start : start + batch_size].tolist()


class BlockDataset(Dataset[tuple[Tensor, Tensor]]):
    """A long sequence of numbers as pieces for a language model: item i is `block` numbers and the same shifted by one.

    `step` is how far one piece begins behind the other: `block` unless given, so that they do not overlap.
    """

    def __init__(self, numbers: Any, block: int, step: int | None = None) -> None:
        values = numbers.numpy() if isinstance(numbers, Tensor) else np.asarray(numbers)
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(f"[blocks] expected one sequence of whole numbers: got {values.dtype} of shape {values.shape}")
        if block < 1 or (step is not None and step < 1):
            raise ValueError(f"[blocks] block and step must be positive: got {block} and {step}")
        self.block, self.step = block, block if step is None else step
        self._numbers = from_numpy(values.astype(np.int64))

    def __len__(self) -> int:
        return max(0, (self._numbers.numel() - 1 - self.block) // self.step + 1) if self._numbers.numel() > self.block else 0

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        start = range(len(self))[index] * self.step
        return self._numbers[start : start + self.block], self._numbers[start + 1 : start + 1 + self.block]
