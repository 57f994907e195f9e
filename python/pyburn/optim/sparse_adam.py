"""Adam for sparse gradients."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ..autograd import enable_grad, no_grad
from .native import options
from .optimizer import Closure, Optimizer, Params, T


class SparseAdam(Optimizer):
    """Adam that skips elements with a zero gradient, such as unused rows of an embedding, including their running averages.

    Gradients are dense here; the steps are those of PyTorch's SparseAdam with sparse gradients.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The learning rate.
        betas: The decay rates of the running averages of the gradient and of its square.
        eps: Added to the denominator for numerical stability.
        maximize: Whether to maximize the objective instead of minimizing it.

    Raises:
        ValueError: An option has an invalid value.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(2))
    >>> p.grad = pyburn.tensor([1.0, 0.0])
    >>> pyburn.optim.SparseAdam([p], lr=0.25).step()
    >>> p.detach().round(decimals=4).tolist()
    [0.75, 1.0]
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, options(locals()))

    def _check_group(self, group: dict[str, Any]) -> None:
        lr, betas, eps = group["lr"], group["betas"], group["eps"]
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")

    def step(self, closure: Closure[T] | None = None) -> T | None:  # type: ignore[override]
        """Performs an optimization step.

        Args:
            closure: Recomputes the loss; called first.

        Returns:
            The loss of the closure, or None.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._move(p, group)
        return loss

    def _move(self, p: Tensor, group: dict[str, Any]) -> None:
        gradient: Any = p.grad
        state: Any = self.state[p]
        if not state:
            state.update(step=0, exp_avg=_core.zeros_like(p), exp_avg_sq=_core.zeros_like(p))
        beta1, beta2 = group["betas"]
        numbers = (float(group["lr"]), float(beta1), float(beta2), float(group["eps"]), bool(group["maximize"]))
        _core._optim.sparse_adam_step(p, gradient, state["exp_avg"], state["exp_avg_sq"], int(state["step"]), *numbers)
        state["step"] += 1
