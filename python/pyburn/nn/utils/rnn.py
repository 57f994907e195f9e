"""Sequences of variable length in one tensor: padded or packed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ... import _core
from ..._core import Tensor, _nn
from ...tensor.creation import tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Packed sequences: the first elements of all sequences, then the second elements of those that have one, and so on.

    Created by pack_sequence and pack_padded_sequence.

    Attributes:
        data: The packed elements.
        batch_sizes: The number of sequences at each step.
        sorted_indices: Sorts the batch by descending length; None if it was sorted.
        unsorted_indices: The inverse permutation; None if the batch was sorted.

    >>> pack_sequence([pyburn.ones(2), pyburn.ones(1)]).batch_sizes
    tensor([2, 1])
    """

    def __new__(
        cls, data: Tensor, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None, unsorted_indices: Tensor | None = None
    ) -> PackedSequence:
        if batch_sizes is None:
            raise ValueError("expected batch_sizes, a vector of how many sequences each step has")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Returns a copy with the data on another device or with another dtype.

        Args:
            *args: A device, a dtype or both.
            **kwargs: The same by name.
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [i if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """Moves the data to the CPU.

        Returns:
            The packed sequences.
        """
        return self.to("cpu")

    def double(self) -> PackedSequence:
        """Casts the data to float64.

        Returns:
            The packed sequences.
        """
        return self.to(_core.float64)

    def float(self) -> PackedSequence:
        """Casts the data to float32.

        Returns:
            The packed sequences.
        """
        return self.to(_core.float32)

    def half(self) -> PackedSequence:
        """Casts the data to float16.

        Returns:
            The packed sequences.
        """
        return self.to(_core.float16)

    def long(self) -> PackedSequence:
        """Casts the data to int64.

        Returns:
            The packed sequences.
        """
        return self.to(_core.int64)

    def int(self) -> PackedSequence:
        """Casts the data to int32.

        Returns:
            The packed sequences.
        """
        return self.to(_core.int32)

    def short(self) -> PackedSequence:
        """Casts the data to int16.

        Returns:
            The packed sequences.
        """
        return self.to(_core.int16)

    def char(self) -> PackedSequence:
        """Casts the data to int8.

        Returns:
            The packed sequences.
        """
        return self.to(_core.int8)

    def byte(self) -> PackedSequence:
        """Casts the data to uint8.

        Returns:
            The packed sequences.
        """
        return self.to(_core.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Returns the inverse permutation.

    Args:
        permutation: A permutation of 0 to n - 1; None gives None.

    >>> pyburn.nn.utils.rnn.invert_permutation(pyburn.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Packs a padded batch.

    Args:
        input: The padded batch, (T, B, *), or (B, T, *) with batch_first.
        lengths: The length of each sequence.
        batch_first: Whether the batch is the first dimension.
        enforce_sorted: Whether to require sequences sorted by descending length; otherwise they are sorted.

    Returns:
        The packed sequences.

    >>> from pyburn.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(pyburn.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2]).data
    tensor([1, 4, 2, 5, 3])
    """
    data, batch_sizes, order = _nn._pack_padded(input, [int(n) for n in _numbers(lengths)], batch_first, enforce_sorted)
    return PackedSequence(data, tensor(batch_sizes, dtype=_core.int64), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Unpacks packed sequences to a padded batch; the inverse of pack_padded_sequence.

    Args:
        sequence: The packed sequences.
        batch_first: Whether the batch is the first dimension.
        padding_value: The padding value.
        total_length: The length to pad to; None for the longest sequence.

    Returns:
        The padded batch, (T, B, *) or (B, T, *), and the lengths.

    >>> from pyburn.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_padded_sequence(pyburn.tensor([[1, 4], [2, 5], [3, 9]]), [3, 2]))
    (tensor([[1, 4],
            [2, 5],
            [3, 0]]), tensor([3, 2]))
    """
    counts = _numbers(sequence.batch_sizes)
    padded, lengths = _nn._pad_packed(sequence.data, counts, sequence.unsorted_indices, batch_first, float(padding_value), total_length)
    return padded, tensor(lengths, dtype=_core.int64)


def pad_sequence(
    sequences: Tensor | Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pads tensors (L, *) of different lengths to a batch.

    Args:
        sequences: The tensors.
        batch_first: Whether the result is (B, T, *) instead of (T, B, *).
        padding_value: The padding value.
        padding_side: "right" or "left".

    Returns:
        The padded batch.

    Raises:
        RuntimeError: sequences is not iterable.

    >>> pyburn.nn.utils.rnn.pad_sequence([pyburn.tensor([1, 2]), pyburn.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    parts = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    return _nn._pad_sequence(parts, batch_first, float(padding_value), padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """Splits a padded batch into sequences of the given lengths; the inverse of pad_sequence.

    Args:
        padded_sequences: The padded batch.
        lengths: The length of each sequence.
        batch_first: Whether the batch is the first dimension.

    Returns:
        The sequences (L, *).

    >>> pyburn.nn.utils.rnn.unpad_sequence(pyburn.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(batch, _numbers(lengths))]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (L, *) of different lengths.

    Args:
        sequences: The sequences (L, *).
        enforce_sorted: Whether to require sequences sorted by descending length; otherwise they are sorted.

    Returns:
        The packed sequences.

    >>> pyburn.nn.utils.rnn.pack_sequence([pyburn.tensor([1, 2]), pyburn.tensor([3])]).data
    tensor([1, 3, 2])
    """
    return pack_padded_sequence(pad_sequence(sequences), [s.shape[0] for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Splits packed sequences into tensors; the inverse of pack_sequence.

    Args:
        packed_sequences: The packed sequences.

    Returns:
        The sequences (L, *).

    >>> from pyburn.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([pyburn.tensor([1, 2]), pyburn.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _numbers(values: Any) -> list[Any]:
    return values.flatten().tolist() if isinstance(values, Tensor) else [v.item() if isinstance(v, Tensor) else v for v in values]
