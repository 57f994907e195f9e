"""Padding sequences to batches, and splitting long sequences into blocks."""

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
    """Pads sequences of token ids to a batch.

    Args:
        sequences: The sequences.
        padding: The padding token.
        max_length: The length to which longer sequences are truncated.
        left: Whether to pad on the left.

    Returns:
        The int64 token ids (batch, longest), and the mask that is True at padding, as for the `key_padding_mask` of attention.

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
    """Yields batches of indices of sequences of similar length, which minimizes padding.

    Args:
        lengths: The length of each sequence.
        batch_size: The batch size.
        seed: The seed for shuffling; None keeps the order by length.

    Returns:
        An iterator over lists of indices.

    Raises:
        ValueError: batch_size is not positive.

    >>> list(pyburn.data.text.length_batches([5, 1, 5, 1], 2, seed=None))
    [[1, 3], [0, 2]]
    """
    if batch_size < 1:
        raise ValueError(f"[batches] batch_size must be positive: got {batch_size}")
    order = np.argsort(np.asarray(lengths), kind="stable")
    starts = np.arange(0, len(order), batch_size)
    if seed is not None:
        rng = np.random.default_rng(seed)
        # Shuffles sequences of equal length, and the batches.
        order = order[np.lexsort((rng.random(len(order)), np.asarray(lengths)[order]))]
        rng.shuffle(starts)
    for start in starts.tolist():
        yield order[start : start + batch_size].tolist()


class BlockDataset(Dataset[tuple[Tensor, Tensor]]):
    """Splits a long token sequence into samples for a language model: (block of token ids, the same shifted by one).

    Args:
        numbers: The token ids, 1-d.
        block: The number of tokens per sample.
        step: The distance between the starts of samples; None for `block`, so that they do not overlap.

    Raises:
        ValueError: numbers is not a 1-d sequence of integers, or block or step is not positive.

    >>> pyburn.data.text.BlockDataset(np.arange(9), block=4)[0]
    (tensor([0, 1, 2, 3]), tensor([1, 2, 3, 4]))
    """

    def __init__(self, numbers: Any, block: int, step: int | None = None) -> None:
        values = numbers.numpy() if isinstance(numbers, Tensor) else np.asarray(numbers)
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(f"[blocks] expected one sequence of integers: got {values.dtype} of shape {values.shape}")
        if block < 1 or (step is not None and step < 1):
            raise ValueError(f"[blocks] block and step must be positive: got {block} and {step}")
        self.block, self.step = block, block if step is None else step
        self._numbers = from_numpy(values.astype(np.int64))

    def __len__(self) -> int:
        return max(0, (self._numbers.numel() - 1 - self.block) // self.step + 1) if self._numbers.numel() > self.block else 0

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        start = range(len(self))[index] * self.step
        return self._numbers[start : start + self.block], self._numbers[start + 1 : start + 1 + self.block]
