"""Optimisers that follow running averages of the gradient and of its square: Adam and its kin."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .native import GradientClipping, NativeOptimizer, options
from .optimizer import Params


class Adam(NativeOptimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    `foreach`, `fused` and `capturable` are accepted for PyTorch's sake: a step is one operation anyway.

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
        betas = tuple(group["betas"])
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
    """Adam whose weight decay does not pass through the running averages.

    `cautious_weight_decay=True` decays only elements that the step brings nearer to zero as well, as in Burn.

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
            group["decoupled_weight_decay"] = True  # also where the state is one of Adam


class Adamax(NativeOptimizer):
    """Adam with the largest gradient, which decays, in place of the average of squares.

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
    """Adam with Nesterov's momentum.

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
    """Adam that starts as plain momentum, until the average of squares is known well enough.

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
    """Lion: the sign of a running average of the gradient (Chen et al., 2023); decay as AdamW's. Takes a third of AdamW's lr.

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
    """Adan: averages of the gradient and of its change, scaled by the square of both (Xie et al., 2022).

    `no_prox=True` decays before the step, as AdamW does, not after it.

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
