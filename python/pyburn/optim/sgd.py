"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _core
from .optimizer import Optimizer, refuse_differentiable


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and weight decay if wanted.

    `foreach` and `fused` are accepted for PyTorch's sake: a step is one operation anyway.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.SGD([p], lr=0.25).step()
    >>> p.item()
    0.75
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        refuse_differentiable(differentiable, "SGD")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        _core._optim.check_sgd(defaults)
        super().__init__(params, defaults)

    def _step_group(self, group: dict[str, Any]) -> None:
        active = [p for p in group["params"] if p.grad is not None]
        if group["momentum"] == 0:
            _core._optim.sgd_step(group, active, [{} for _ in active])
        else:
            _core._optim.sgd_step(group, active, [self.state[p] for p in active])
