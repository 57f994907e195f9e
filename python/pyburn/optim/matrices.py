"""Optimizers for matrix-shaped parameters."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .native import GradientClipping, NativeOptimizer, options
from .optimizer import Params


class Muon(NativeOptimizer):
    """Muon: momentum orthogonalized by Newton-Schulz iterations, for the matrices of hidden layers. Use AdamW for other parameters.

    Args:
        params: Parameters with two dimensions, or groups of them.
        lr: The learning rate.
        weight_decay: The decoupled weight decay.
        momentum: The momentum factor.
        nesterov: Whether to use Nesterov momentum.
        ns_coefficients: The coefficients of the Newton-Schulz polynomial.
        eps: Added to the denominator for numerical stability.
        ns_steps: The number of Newton-Schulz iterations.
        adjust_lr_fn: How to scale the learning rate by the shape: "original", "match_rms_adamw" or "spectral_unclamped".
        grad_clip: The clipping of each gradient, see GradientClipping.

    Raises:
        ValueError: A parameter does not have two dimensions.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.eye(2))
    >>> p.grad = pyburn.tensor([[0.0, 8.0], [1.0, 0.0]])
    >>> pyburn.optim.Muon([p], lr=0.25, weight_decay=0.0).step()
    >>> bool((p[0, 1] + 0.25).abs() < 0.1)
    True
    """

    _core_name = "Muon"
    _step_supports_amp_scaling = False
    _parts = {"ns_coefficients": ("ns_a", "ns_b", "ns_c")}
    _counters = ()

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))

    def _check_group(self, group: dict[str, Any]) -> None:
        super()._check_group(group)
        for p in group["params"]:
            if p.ndim != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")


class Adafactor(NativeOptimizer):
    """Adafactor: Adam with a factored second moment (one row and one column per matrix) and steps relative to the size of the parameter.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        beta2_decay: The exponent of the decay rate of the second moment.
        eps: Regularization of the squared gradient (None for the machine epsilon) and of the parameter scale.
        d: The clipping threshold of the update.
        weight_decay: The decoupled weight decay.
        foreach: Accepted for compatibility with PyTorch; a step is always a single operation.
        maximize: Whether to maximize the objective instead of minimizing it.
        grad_clip: The clipping of each gradient, see GradientClipping.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(2, 3))
    >>> p.grad = pyburn.ones(2, 3)
    >>> optimizer = pyburn.optim.Adafactor([p], lr=0.25)
    >>> optimizer.step()
    >>> round(p[0, 0].item(), 4), tuple(optimizer.state[p]["col_var"].shape)
    (0.75, (1, 3))
    """

    _core_name = "Adafactor"
    _step_supports_amp_scaling = False
    _parts = {"eps": ("eps1", "eps2")}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        grad_clip: GradientClipping | None = None,
    ) -> None:
        super().__init__(params, options(locals()))
