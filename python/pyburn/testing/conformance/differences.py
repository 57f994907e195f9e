"""First and second derivatives by finite differences, in float64 on the CPU."""

from __future__ import annotations

from functools import cache

import numpy as np

from .calls import Call
from .samples import DTypeName, Sample, read_sample

STEP = 1e-5
MOST_ELEMENTS = 120
# The gradient of ctc_loss is PyTorch's, which assumes that probabilities sum to 1; _ctc_loss has the derivative.
_OTHER_GRADIENTS = ("cast", "ctc_loss", "ctc_loss.lengths")


def has_differences(sample: Sample, elements: int) -> bool:
    """Returns whether a sample is small, its gradient is the derivative, and no element is at a discontinuity (which literals may be).

    Args:
        sample: The sample.
        elements: The total number of elements of all gradients.
    """
    if sample.error or any(x.literal for x in sample.inputs) or any(isinstance(v, DTypeName) for v in sample.keywords.values()):
        return False
    return 0 < elements <= MOST_ELEMENTS and sample.op not in _OTHER_GRADIENTS


def _quotients(arrays: list[np.ndarray], wanted: list[int], function) -> list[np.ndarray]:
    """Returns d function / d arrays[i] for each wanted i; function takes the list."""
    results = []
    for i in wanted:
        result = np.zeros(arrays[i].shape)
        for index in np.ndindex(arrays[i].shape):
            values = []
            for step in (STEP, -STEP):
                moved = [a.copy() for a in arrays]
                moved[i][index] += step
                values.append(function(moved))
            result[index] = (values[0] - values[1]) / (2 * STEP)
        results.append(result)
    return results


@cache
def _first(op: str, line: str) -> list[np.ndarray]:
    call = _call(op, line)
    return _quotients(call.arrays(), list(call.leaves), lambda arrays: _call(op, line, arrays).weighted())


@cache
def _second(op: str, line: str) -> list[np.ndarray]:
    call = _call(op, line)
    made, entering = call.arrays(), call.entering()
    wanted = [*call.leaves, *range(len(made), len(made) + len(entering))]
    return _quotients(made + entering, wanted, lambda moved: _call(op, line, moved[: len(made)]).weighted_gradients(moved[len(made) :]))


def _call(op: str, line: str, arrays: list[np.ndarray] | None = None) -> Call:
    return Call(read_sample(op, line), "cpu", arrays, float64=True)


def first_differences(sample: Sample) -> list[np.ndarray]:
    return _first(sample.op, sample.line)


def second_differences(sample: Sample) -> list[np.ndarray]:
    return _second(sample.op, sample.line)
