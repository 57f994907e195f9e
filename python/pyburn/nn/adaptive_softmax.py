"""The output type of AdaptiveLogSoftmaxWithLoss, which is implemented in C++."""

from __future__ import annotations

from typing import Any, NamedTuple


class AdaptiveSoftmaxOutput(NamedTuple):
    """The log-probability of each target, and the loss: the mean of their negatives."""

    output: Any
    loss: Any
