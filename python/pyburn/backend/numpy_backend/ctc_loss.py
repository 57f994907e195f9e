"""Connectionist temporal classification, with probabilities as they are: in float64 they last for short sequences."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import kernel


class CtcLossKernels:
    @kernel
    def _ctc_loss(self, x, targets, input_lengths, target_lengths, *, blank, zero_infinity):
        losses, first = np.zeros(x.shape[1]), 0
        for n, (steps, length) in enumerate(zip(input_lengths, target_lengths)):
            if not 0 <= steps <= len(x):
                raise _core.ArgumentError(f"[_ctc_loss] expected input_lengths up to {len(x)}: got {steps}")
            row = targets[n] if targets.ndim == 2 else targets[first:]
            if not 0 <= length <= len(row):
                raise _core.ArgumentError(f"[_ctc_loss] expected target_lengths that fit {targets.shape}: got {length}")
            first += length
            for label in row[:length]:
                if not 0 <= label < x.shape[2]:
                    raise _core.IndexOutOfRange(f"[_ctc_loss] label out of range: got {label} of {x.shape[2]}")
            losses[n] = loss(np.exp(x[:steps, n].astype(np.float64)), row[:length], blank)
        return np.where(np.isinf(losses), 0, losses) if zero_infinity else losses


def loss(probabilities: np.ndarray, labels: np.ndarray, blank: int) -> float:
    """Of one example: the labels with blanks around them are places that paths go through."""
    places = np.full(2 * len(labels) + 1, blank)
    places[1::2] = labels
    at = np.zeros(len(places))  # how probable it is to be at each place
    at[0] = 1
    for step in probabilities:
        before = at.copy()
        at[1:] += before[:-1]
        for i in range(3, len(places), 2):
            if places[i] != places[i - 2]:
                at[i] += before[i - 2]
        at *= step[places]
    return -float(np.log(at[-2:].sum()))
