"""Sequences of different lengths in one tensor: padded, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ... import _core
from ..._core import Tensor
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
    """Sequences packed step by step: first the first elements of all, then the second ones of those that have one, ...

    `batch_sizes` says how many sequences each step has. `sorted_indices` sorts the batch by falling length, and
    `unsorted_indices` undoes it; both are None for a batch that was sorted. Made by pack_sequence and pack_padded_sequence.
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
        """The same with its data on another device or of another dtype."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [i if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """The same on the CPU."""
        return self.to("cpu")

    def double(self) -> PackedSequence:
        """The same as float64."""
        return self.to(_core.float64)

    def float(self) -> PackedSequence:
        """The same as float32."""
        return self.to(_core.float32)

    def half(self) -> PackedSequence:
        """The same as float16."""
        return self.to(_core.float16)

    def long(self) -> PackedSequence:
        """The same as int64."""
        return self.to(_core.int64)

    def int(self) -> PackedSequence:
        """The same as int32."""
        return self.to(_core.int32)

    def short(self) -> PackedSequence:
        """The same as int16."""
        return self.to(_core.int16)

    def char(self) -> PackedSequence:
        """The same as int8."""
        return self.to(_core.int8)

    def byte(self) -> PackedSequence:
        """The same as uint8."""
        return self.to(_core.uint8)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another one.

    >>> pyburn.nn.utils.rnn.invert_permutation(pyburn.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Packs a padded batch (T, B, *), or (B, T, *) with batch_first, of sequences of the given lengths.

    >>> from pyburn.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(pyburn.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2]).data
    tensor([1, 4, 2, 5, 3])
    """
    sizes = _numbers(lengths)
    if input.ndim < 2:
        raise RuntimeError(f"expected a batch of sequences with two axes or more: got {tuple(input.shape)}")
    steps_first = input.transpose(0, 1) if batch_first else input
    if len(sizes) != steps_first.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={steps_first.shape[1]})")
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if min(sizes, default=1) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if max(sizes, default=0) > steps_first.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {steps_first.shape[0]}, the steps of the batch, but got {max(sizes)}")
    order = None
    if not enforce_sorted:
        order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
        sizes = [sizes[i] for i in order]
    elif any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    batch_sizes = [sum(size > t for size in sizes) for t in range(max(sizes, default=0))]
    columns = order or range(len(sizes))
    rows = [t * len(sizes) + columns[b] for t, n in enumerate(batch_sizes) for b in range(n)]
    flat = steps_first.reshape(-1, *steps_first.shape[2:])
    indices = None if order is None else _index(order, input)
    return PackedSequence(flat.index_select(0, _index(rows, input)), tensor(batch_sizes), indices)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Undoes pack_padded_sequence: the padded batch (T, B, *), or (B, T, *), and the lengths.

    >>> from pyburn.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_padded_sequence(pyburn.tensor([[1, 4], [2, 5], [3, 9]]), [3, 2]))
    (tensor([[1, 4],
            [2, 5],
            [3, 0]]), tensor([3, 2]))
    """
    counts = _numbers(sequence.batch_sizes)
    batch, longest = (counts[0] if counts else 0), len(counts)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    data = sequence.data
    steps = longest if total_length is None else total_length
    columns = list(range(batch)) if sequence.unsorted_indices is None else _numbers(sequence.unsorted_indices)
    starts = [sum(counts[:t]) for t in range(longest)]
    # One more row holds the padding.
    rows = [starts[t] + column if t < longest and column < counts[t] else data.shape[0] for t in range(steps) for column in columns]
    padding = _core.full((1, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = _core.cat([data, padding]).index_select(0, _index(rows, data)).reshape(steps, batch, *data.shape[1:])
    lengths = [sum(count > column for count in counts) for column in columns]
    return (padded.transpose(0, 1) if batch_first else padded), tensor(lengths)


def pad_sequence(
    sequences: Tensor | Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Tensors (L, *) of different lengths as one batch (T, B, *), or (B, T, *) with batch_first.

    >>> pyburn.nn.utils.rnn.pad_sequence([pyburn.tensor([1, 2]), pyburn.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side should be 'left' or 'right': got {padding_side!r}")
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    parts = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    longest = max(part.shape[0] for part in parts)
    padded = []
    for part in parts:
        missing = longest - part.shape[0]
        fill = _core.full((missing, *part.shape[1:]), padding_value, dtype=part.dtype, device=part.device)
        padded.append(_core.cat([part, fill] if padding_side == "right" else [fill, part]) if missing else part)
    return _core.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """Undoes pad_sequence: the first elements of each sequence of a padded batch.

    >>> pyburn.nn.utils.rnn.unpad_sequence(pyburn.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(batch, _numbers(lengths))]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (L, *) of different lengths.

    >>> pyburn.nn.utils.rnn.pack_sequence([pyburn.tensor([1, 2]), pyburn.tensor([3])]).data
    tensor([1, 3, 2])
    """
    return pack_padded_sequence(pad_sequence(sequences), [s.shape[0] for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undoes pack_sequence.

    >>> from pyburn.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([pyburn.tensor([1, 2]), pyburn.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _numbers(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, Tensor) else [v.item() if isinstance(v, Tensor) else v for v in values]


def _index(rows: Sequence[int], like: Tensor) -> Tensor:
    return tensor(list(rows), dtype=_core.int64, device=like.device)
