"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _core
from .optimizer import Optimizer, refuse_differentiable


class Adam(Optimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    `foreach`, `fused` and `capturable` are accepted for PyTorch's sake: a step is one operation anyway.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adam([p], lr=0.25).step()
    >>> round(p.item(), 4)
    0.75
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        refuse_differentiable(differentiable, type(self).__name__)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        _core._optim.check_adam(_with_betas(defaults))
        super().__init__(params, defaults)

    def _step_group(self, group: dict[str, Any]) -> None:
        active = [p for p in group["params"] if p.grad is not None]
        _core._optim.adam_step(_with_betas(group), active, [self.state[p] for p in active])


class AdamW(Adam):
    """Adam whose weight decay does not pass through the running averages."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


def _with_betas(group: dict[str, Any]) -> dict[str, Any]:
    return {**group, "beta1": group["betas"][0], "beta2": group["betas"][1]}
