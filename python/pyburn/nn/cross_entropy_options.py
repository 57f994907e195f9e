"""Options of linear_cross_entropy, imported on demand because importing dataclasses is slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """PyTorch's memory-saving options. Accepted for compatibility; they have no effect on the result.

    >>> _ = LinearCrossEntropyOptions()
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None
