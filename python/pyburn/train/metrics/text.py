"""Error rates of sequences, from the edit distance between prediction and target."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ..._core import Tensor
from .metric import Metric, Ratio, array


def edit_distance(found: Sequence[Hashable], truth: Sequence[Hashable]) -> int:
    """Returns the Levenshtein distance: the minimum number of insertions, deletions and substitutions between two sequences.

    Args:
        found: The first sequence.
        truth: The second sequence.

    >>> pyburn.train.metrics.edit_distance("kitten", "sitting")
    3
    """
    if len(found) < len(truth):
        found, truth = truth, found
    codes: dict[Hashable, int] = {}
    a = [codes.setdefault(item, len(codes)) for item in found]
    b = np.array([codes.setdefault(item, len(codes)) for item in truth], np.int64)
    places = np.arange(len(b) + 1)
    row = places.copy()
    for index, item in enumerate(a):
        new = np.empty_like(row)
        new[0] = index + 1
        np.minimum(row[1:] + 1, row[:-1] + (b != item), out=new[1:])
        # Insertions along the row, as a running minimum.
        row = np.minimum.accumulate(new - places) + places
    return int(row[-1])


class TextMetric(Metric):
    """Base class of metrics for strings, lists of strings, or rows of tokens, in which tokens equal to `pad` are ignored."""

    def __init__(self, name: str | None = None, *, pad: int | None = None) -> None:
        self.pad = pad
        super().__init__(name)

    def units(self, text: str) -> Sequence[Hashable]:
        """Splits a string into its units."""
        raise NotImplementedError

    def add(self, found: Sequence[Hashable], truth: Sequence[Hashable]) -> None:
        """Adds one prediction and its target to the state."""
        raise NotImplementedError

    def measure(self, output: Any, target: Any) -> None:
        found, truth = (self._sequences(value) for value in (output, target))
        if len(found) != len(truth):
            raise ValueError(f"[{type(self).__name__}] as many texts as targets are needed: got {len(found)} and {len(truth)}")
        for one, other in zip(found, truth):
            self.add(one, other)

    def _sequences(self, value: Any) -> list[Sequence[Hashable]]:
        if isinstance(value, str):
            return [self.units(value)]
        if isinstance(value, (Tensor, np.ndarray)):
            value = np.atleast_2d(array(value)).tolist()
        rows: Iterable[Any] = value
        return [self.units(row) if isinstance(row, str) else [token for token in row if token != self.pad] for row in rows]


class _ErrorRate(Ratio, TextMetric):
    higher_is_better = False

    def initial(self) -> dict[str, Any]:
        return {"edits": 0, "length": 0}

    def add(self, found: Sequence[Hashable], truth: Sequence[Hashable]) -> None:
        self.state["edits"] += edit_distance(found, truth)
        self.state["length"] += len(truth)


class CER(_ErrorRate):
    """Character error rate: the edit distance per character of the target.

    >>> cer = pyburn.train.metrics.CER()
    >>> cer.update(["kitten"], ["sitting"])
    >>> round(cer.compute(), 4)
    0.4286
    """

    def units(self, text: str) -> Sequence[Hashable]:
        return text


class WER(_ErrorRate):
    """Word error rate: the edit distance per word of the target.

    >>> wer = pyburn.train.metrics.WER()
    >>> wer.update(["the cat sat"], ["the cat sat down"])
    >>> wer.compute()
    0.25
    """

    def units(self, text: str) -> Sequence[Hashable]:
        return text.split()
