"""What AdaptiveLogSoftmaxWithLoss, which is C++, gives."""

from __future__ import annotations

from typing import Any, NamedTuple


class AdaptiveSoftmaxOutput(NamedTuple):
    """The log-probability of each target, and the mean of their negatives."""

    output: Any
    loss: Any
