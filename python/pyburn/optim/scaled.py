"""Optimizers with a step size per element."""

from __future__ import annotations

from .._core import Tensor, full_like
from ..autograd import no_grad
from .native import GradientClipping, NativeOptimizer, options
from .optimizer import Params


class Adagrad(NativeOptimizer):
    """Adagrad: divides steps by the root of the sum of all squared gradients.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        lr_decay: The decay of the learning rate.
        weight_decay: The weight decay (L2 penalty).
        initial_accumulator_value: The initial value of the sum.
        eps: Added to the denominator for numerical stability.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        fused: Accepted for compatibility with PyTorch; a step is always a single operation.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adagrad([p], lr=0.25).step()
    >>> p.item()
    0.75
    """

    _core_name = "Adagrad"

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
        with no_grad():  # this optimizer's state exists from the start, as in PyTorch
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p] = {"step": 0, "sum": full_like(p, group["initial_accumulator_value"])}


class Adadelta(NativeOptimizer):
    """Adadelta: scales steps by the ratio of the running averages of updates and gradients.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        rho: The decay rate of the running averages.
        eps: Added to the denominator for numerical stability.
        weight_decay: The weight decay (L2 penalty).
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        capturable: Accepted for compatibility with PyTorch.
        maximize: Whether to maximize the objective instead of minimizing it.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adadelta([p]).step()
    >>> p.item() < 1
    True
    """

    _core_name = "Adadelta"

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
    """RMSprop: divides steps by the root of a running average of squared gradients.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        alpha: The decay rate of the running average.
        eps: Added to the denominator for numerical stability.
        weight_decay: The weight decay (L2 penalty).
        momentum: The momentum factor.
        centered: Whether to use the variance of the gradient instead of its second moment.
        capturable: Accepted for compatibility with PyTorch.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.RMSprop([p], lr=0.25, alpha=0.0).step()
    >>> round(p.item(), 4)
    0.75
    """

    _core_name = "RMSprop"

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
    """Rprop: resilient backpropagation, which uses only the sign of the gradients. For full batches.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        etas: The factors by which step sizes shrink when the sign changes, and grow otherwise.
        step_sizes: The minimum and maximum step size.
        capturable: Accepted for compatibility with PyTorch.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        grad_clip: The clipping of each gradient, see GradientClipping.

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
