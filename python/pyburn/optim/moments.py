"""Optimizers with running averages of the gradient and its square: Adam and its variants."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .native import GradientClipping, NativeOptimizer, options
from .optimizer import Params


class Adam(NativeOptimizer):
    """Adam.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The decay rates of the running averages of the gradient and of its square.
        eps: Added to the denominator for numerical stability.
        weight_decay: The weight decay (L2 penalty).
        amsgrad: Whether to use the maximum of the second moments so far (AMSGrad).
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        capturable: Accepted for compatibility with PyTorch.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        fused: Accepted for compatibility with PyTorch; a step is always a single operation.
        decoupled_weight_decay: Whether to decouple the weight decay, as in AdamW.
        cautious_weight_decay: Whether to decay only elements that the step also moves towards zero, as in Burn.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adam([p], lr=0.25).step()
    >>> round(p.item(), 4)
    0.75
    """

    _core_name = "Adam"

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
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
        cautious_weight_decay: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))

    def _check_group(self, group: dict[str, Any]) -> None:
        betas = self._values_of(group, "betas")
        if len({isinstance(beta, Tensor) for beta in betas}) > 1:
            raise ValueError("betas must be either both floats or both Tensors")
        if group["foreach"] and not group["capturable"]:
            for name, value in [("lr", group["lr"]), *((f"betas[{i}]", beta) for i, beta in enumerate(betas))]:
                if isinstance(value, Tensor):
                    raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
        super()._check_group(group)


class AdamW(Adam):
    """Adam with decoupled weight decay.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The decay rates of the running averages of the gradient and of its square.
        eps: Added to the denominator for numerical stability.
        weight_decay: The decoupled weight decay.
        amsgrad: Whether to use the maximum of the second moments so far (AMSGrad).
        maximize: Whether to maximize the objective instead of minimizing it.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        capturable: Accepted for compatibility with PyTorch.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        fused: Accepted for compatibility with PyTorch; a step is always a single operation.
        cautious_weight_decay: Whether to decay only elements that the step also moves towards zero, as in Burn.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.AdamW([p], lr=0.25, weight_decay=0.5).step()
    >>> round(p.item(), 4)
    0.625
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
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
        cautious_weight_decay: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, **options(locals()), decoupled_weight_decay=True)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True  # even if the state is from Adam


class Adamax(NativeOptimizer):
    """Adamax: Adam with the infinity norm in place of the second moment.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The decay rates of the running averages of the gradient and of its square.
        eps: Added to the denominator for numerical stability.
        weight_decay: The weight decay (L2 penalty).
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        capturable: Accepted for compatibility with PyTorch.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adamax([p], lr=0.25).step()
    >>> round(p.item(), 4)
    0.75
    """

    _core_name = "Adamax"

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))


class NAdam(NativeOptimizer):
    """NAdam: Adam with Nesterov momentum.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The decay rates of the running averages of the gradient and of its square.
        eps: Added to the denominator for numerical stability.
        weight_decay: The weight decay (L2 penalty).
        momentum_decay: The decay of the momentum.
        decoupled_weight_decay: Whether to decouple the weight decay, as in AdamW.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        capturable: Accepted for compatibility with PyTorch.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.NAdam([p], lr=0.25).step()
    >>> p.item() < 0.75
    True
    """

    _core_name = "NAdam"
    _counters = ("step", "mu_product")

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))


class RAdam(NativeOptimizer):
    """RAdam (rectified Adam): uses plain momentum until the variance of the second moment is reliable.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The decay rates of the running averages of the gradient and of its square.
        eps: Added to the denominator for numerical stability.
        weight_decay: The weight decay (L2 penalty).
        decoupled_weight_decay: Whether to decouple the weight decay, as in AdamW.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        capturable: Accepted for compatibility with PyTorch.
        differentiable: Whether non-leaf tensors are accepted as parameters.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.RAdam([p], lr=0.25).step()
    >>> round(p.item(), 4)
    0.75
    """

    _core_name = "RAdam"

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))


class Lion(NativeOptimizer):
    """Lion: steps by the sign of an averaged gradient (Chen et al., 2023). Use about a third of AdamW's learning rate.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The weights of the momentum in the update, and in the running average.
        weight_decay: The decoupled weight decay.
        maximize: Whether to maximize the objective instead of minimizing it.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.full((1,), 100.0)
    >>> pyburn.optim.Lion([p], lr=0.25).step()
    >>> p.item()
    0.75
    """

    _core_name = "Lion"
    _counters = ()

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))


class Adan(NativeOptimizer):
    """Adan: Adaptive Nesterov momentum (Xie et al., 2022).

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The decay rates of the averages of the gradient, of its difference, and of the square.
        eps: Added to the denominator for numerical stability.
        weight_decay: The decoupled weight decay.
        no_prox: Whether to decay before the step, as in AdamW, instead of after it.
        maximize: Whether to maximize the objective instead of minimizing it.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> pyburn.optim.Adan([p], lr=0.25).step()
    >>> round(p.item(), 4)
    0.75
    """

    _core_name = "Adan"
    _parts = {"betas": ("beta1", "beta2", "beta3")}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float, float] = (0.98, 0.92, 0.99),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        no_prox: bool = False,
        *,
        maximize: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))
