"""Optimisers that give each element a step size of its own."""

from __future__ import annotations

from .._core import Tensor, full_like
from ..autograd import no_grad
from .native import GradientClipping, NativeOptimizer, options
from .optimizer import Params


class Adagrad(NativeOptimizer):
    """Steps divided by the root of the sum of all squares so far.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adagrad([p], lr=0.25).step()
    >>> p.item()
    0.75
    """

    _core_name = "Adagrad"
    _parts = {}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))
        with no_grad():  # PyTorch has the state of this optimiser from the start
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p] = {"step": 0, "sum": full_like(p, group["initial_accumulator_value"])}


class Adadelta(NativeOptimizer):
    """Steps as large as former steps were in relation to former gradients.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adadelta([p]).step()
    >>> p.item() < 1
    True
    """

    _core_name = "Adadelta"
    _parts = {}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))


class RMSprop(NativeOptimizer):
    """Steps divided by the root of a running average of squares, or of the variance if `centered`.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.RMSprop([p], lr=0.25, alpha=0.0).step()
    >>> round(p.item(), 4)
    0.75
    """

    _core_name = "RMSprop"
    _parts = {}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        *,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))


class Rprop(NativeOptimizer):
    """Steps by the sign of the gradient alone, which grow while it stays and shrink when it turns. For full batches.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.full((1,), 100.0)
    >>> pyburn.optim.Rprop([p], lr=0.25).step()
    >>> p.item()
    0.75
    """

    _core_name = "Rprop"
    _parts = {"etas": ("eta_minus", "eta_plus"), "step_sizes": ("step_size_min", "step_size_max")}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))
