"""Options of linear_cross_entropy. Loaded when they are asked for: what makes a dataclass takes long to load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch splits the batch to save memory. Accepted, and of no influence: the result is the same."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None
