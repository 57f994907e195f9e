"""Stochastic gradient descent, plain and averaged."""

from __future__ import annotations

from .._core import Tensor
from .native import GradientClipping, NativeOptimizer, options
from .optimizer import Params


class SGD(NativeOptimizer):
    """Stochastic gradient descent, optionally with momentum.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        momentum: The momentum factor.
        dampening: The dampening of the momentum.
        weight_decay: The weight decay (L2 penalty).
        nesterov: Whether to use Nesterov momentum.
        maximize: Whether to maximize the objective instead of minimizing it.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        fused: Accepted for compatibility with PyTorch; a step is always a single operation.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.SGD([p], lr=0.25).step()
    >>> p.item()
    0.75
    """

    _core_name = "SGD"

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

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        lambd: The decay term.
        alpha: The power of the learning-rate decay.
        t0: The step at which averaging starts.
        weight_decay: The weight decay (L2 penalty).
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        capturable: Accepted for compatibility with PyTorch.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.ASGD([p], lr=0.25, lambd=0.0).step()
    >>> p.item()
    0.75
    """

    _core_name = "ASGD"
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
