"""Checks the arguments of a Learner, so that common mistakes are reported in one sentence."""

from __future__ import annotations

import sys
from typing import Any

from .errors import TrainingError


def check_optimizer(model: Any, optimizer: Any) -> None:
    """Raises TrainingError if an optimizer is missing, or has none of the parameters of the model."""
    if optimizer is None:
        raise TrainingError("[Learner] fit needs an optimizer: Learner(model, optimizer, ...)")
    mine = {id(p) for p in model.parameters()}
    theirs = [p for group in getattr(optimizer, "param_groups", ()) for p in group["params"]]
    if mine and theirs and not any(id(p) in mine for p in theirs):
        name = type(optimizer).__name__
        raise TrainingError(
            f"[Learner] the optimizer has no parameter of this model: it was made for another one. "
            f"Create it with pyburn.optim.{name}(model.parameters(), ...)"
        )


def check_batches(data: Any, argument: str) -> None:
    """Raises TypeError if `data` is a data set whose items are single samples, rather than an iterable of batches."""
    sets = sys.modules.get("pyburn.data.dataset")
    if sets is None or not isinstance(data, sets.Dataset) or isinstance(data, sets.IterableDataset):
        return
    if isinstance(data, sets.TensorDataset) or _is_sample(next(iter(data), None)):
        raise TypeError(
            f"[fit] {argument} is a {type(data).__name__}, whose items are single samples: make batches of it with "
            "pyburn.data.DataLoader(data, batch_size=32, shuffle=True)"
        )


def _is_sample(item: Any) -> bool:
    """Whether the last part of an item, the target, is a single number."""
    target = item[-1] if isinstance(item, (tuple, list)) and len(item) > 1 else None
    return isinstance(target, (bool, int, float)) or getattr(target, "shape", None) == ()
