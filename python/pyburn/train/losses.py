"""Losses by name for the Learner."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from ..nn import functional

LOSSES: dict[str, Callable[..., Any]] = {
    "bce": functional.binary_cross_entropy,
    "bce_with_logits": functional.binary_cross_entropy_with_logits,
    "cross_entropy": functional.cross_entropy,
    "huber": functional.huber_loss,
    "kl_div": functional.kl_div,
    "mae": functional.l1_loss,
    "mse": functional.mse_loss,
    "nll": functional.nll_loss,
    "smooth_l1": functional.smooth_l1_loss,
}


def loss_from(loss: Any) -> Callable[..., Any] | None:
    """Returns the loss function for a function, a module, a class of modules (created without arguments), a name or None.

    Raises:
        ValueError: The name is unknown.
        TypeError: loss is none of these.

    >>> pyburn.train.losses.loss_from(pyburn.nn.CrossEntropyLoss)
    CrossEntropyLoss()
    """
    if isinstance(loss, str):
        if loss not in LOSSES:
            close = difflib.get_close_matches(loss, LOSSES, 1)
            hint = f": did you mean {close[0]!r}?" if close else "."
            raise ValueError(
                f"[Learner] unknown loss {loss!r}{hint} Expected one of {', '.join(LOSSES)}, or a function of (output, target)"
            )
        return LOSSES[loss]
    if isinstance(loss, type):
        return loss()
    if loss is not None and not callable(loss):
        raise TypeError(f"[Learner] a loss is a function of (output, target), a module, a class of modules or a name: got {loss!r}")
    return loss
