"""Checks the arguments of a Learner, so that common mistakes are reported in one sentence."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from typing import Any

from .. import nn
from .errors import TrainingError

_LOSSES = {
    "bce": "BCELoss",
    "bce_with_logits": "BCEWithLogitsLoss",
    "cross_entropy": "CrossEntropyLoss",
    "huber": "HuberLoss",
    "l1": "L1Loss",
    "mae": "L1Loss",
    "mse": "MSELoss",
    "nll": "NLLLoss",
    "smooth_l1": "SmoothL1Loss",
}


def loss_function(loss: Any) -> Callable[..., Any] | None:
    """Returns the loss for a function, a loss module, its class, or a name such as "mse".

    Raises:
        ValueError: There is no loss of that name.
        TypeError: `loss` cannot be called.
    """
    if isinstance(loss, str):
        if loss not in _LOSSES:
            similar = difflib.get_close_matches(loss, _LOSSES, 1)
            advice = (
                f"did you mean {similar[0]!r}?" if similar else f"expected one of {', '.join(_LOSSES)}, or a module such as nn.MSELoss()"
            )
            raise ValueError(f"[Learner] there is no loss named {loss!r}: {advice}")
        return getattr(nn, _LOSSES[loss])()
    if isinstance(loss, type) and issubclass(loss, nn.Module):
        return loss()
    if loss is not None and not callable(loss):
        raise TypeError(f"[Learner] loss must be a function, a loss module or a name such as 'mse': got {type(loss).__name__}")
    return loss


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
