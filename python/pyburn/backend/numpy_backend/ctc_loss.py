"""Connectionist temporal classification, with plain probabilities in float64, which suffices for short sequences."""

from __future__ import annotations

import numpy as np

from ... import _core
from ..interface import kernel
from .arrays import check_range


class CtcLossKernels:
    @kernel
    def _ctc_loss(self, x, targets, input_lengths, target_lengths, *, blank, zero_infinity):
        losses, first = np.zeros(x.shape[1]), 0
        for n, (steps, length) in enumerate(zip(input_lengths, target_lengths)):
            row = targets[n] if targets.ndim == 2 else targets[first:]
            for what, got, most in (("input", steps, len(x)), ("target", length, len(row))):
                if not 0 <= got <= most:
                    raise _core.ArgumentError(f"[ctc_loss] expected {what}_lengths up to {most}: got {got}")
            check_range(row[:length], 0, x.shape[2], f"[ctc_loss] label out of range: got {{}} of {x.shape[2]}")
            losses[n] = loss(np.exp(x[:steps, n].astype(np.float64)), row[:length], blank)
            first += length
        return np.where(np.isinf(losses), 0, losses) if zero_infinity else losses


def loss(probabilities: np.ndarray, labels: np.ndarray, blank: int) -> float:
    """Returns the loss of one sample, by the forward algorithm over the labels with blanks between them."""
    places = np.full(2 * len(labels) + 1, blank)
    places[1::2] = labels
    skips = places[2:] != places[:-2]  # a path may skip the blank between two different labels
    at = np.zeros(len(places))  # the probability of each position
    at[0] = 1
    for step in probabilities:
        before = at.copy()
        at[1:] += before[:-1]
        at[2:] += before[:-2] * skips
        at *= step[places]
    return -float(np.log(at[-2:].sum()))
