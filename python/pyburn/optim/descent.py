"""Stochastic gradient descent, plain and averaged."""

from __future__ import annotations

from .._core import Tensor
from .native import GradientClipping, NativeOptimizer, options
from .optimizer import Params


class SGD(NativeOptimizer):
    """Stochastic gradient descent, with momentum and weight decay if wanted.

    `foreach` and `fused` are accepted for PyTorch's sake: a step is one operation anyway.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.SGD([p], lr=0.25).step()
    >>> p.item()
    0.75
    """

    _core_name = "SGD"
    _parts = {}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))


class ASGD(NativeOptimizer):
    """Averaged stochastic gradient descent: `state[p]["ax"]` is the average of the parameter over the steps.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.ASGD([p], lr=0.25, lambd=0.0).step()
    >>> p.item()
    0.75
    """

    _core_name = "ASGD"
    _parts = {}
    _counters = ("step", "eta", "mu")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        *,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))
