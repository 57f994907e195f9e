"""L-BFGS."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ..autograd import enable_grad
from .native import NativeOptimizer, options
from .optimizer import Closure, Params, T


class LBFGS(NativeOptimizer):
    """L-BFGS: a quasi-Newton method with limited memory, for smooth functions and full batches.

    `step` needs a closure that clears the gradients, computes the loss, calls backward and returns the loss; it is called several times.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        lr: The step size.
        max_iter: The maximum number of iterations per step.
        max_eval: The maximum number of function evaluations per step; by default 1.25 * max_iter.
        tolerance_grad: The tolerance of the gradient for termination.
        tolerance_change: The tolerance of changes of parameters and function value for termination.
        history_size: The number of stored updates.
        line_search_fn: "strong_wolfe" for a line search; None uses lr as the step size.
        maximize: Whether to maximize the objective instead of minimizing it.

    Raises:
        ValueError: There is more than one parameter group.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.tensor([3.0, -2.0]))
    >>> optimizer = pyburn.optim.LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((p - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    13.0
    >>> p.detach().round().tolist()
    [1.0, 1.0]
    """

    _core_name = "LBFGS"
    _step_supports_amp_scaling = False
    _parts = {}
    _counters = ()

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        super().__init__(params, options(locals()))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Closure[T] | None = None) -> T:  # type: ignore[override]
        """Performs an optimization step.

        Args:
            closure: Clears the gradients, computes the loss, calls backward and returns the loss.

        Returns:
            The loss of the first evaluation.

        Raises:
            TypeError: closure is None.
        """
        if closure is None:
            raise TypeError("LBFGS.step needs a closure that computes the loss again")
        group = self.param_groups[0]
        if not group["params"]:
            with enable_grad():
                return closure()
        losses: list[T] = []

        def loss() -> float:
            with enable_grad():
                value = closure()
            if not losses:
                losses.append(value)
            return float(value)  # type: ignore[arg-type]

        self._functions.step(self._numbers(group), group["params"], self.state[group["params"][0]], loss)
        return losses[0]

    def _saved(self, values: dict[str, Any]) -> dict[str, Any]:
        if "old_dirs" not in values:
            return values
        # PyTorch stores these numbers as tensors. It makes its scratch list "al", of history_size places, when that is missing.
        numbers: dict[str, Any] = {"ro": [self._as_tensor(r, values) for r in values["ro"]]}
        if values["ro"]:
            numbers["H_diag"] = self._as_tensor(values["H_diag"], values)
        return {**values, **numbers}

    @staticmethod
    def _as_tensor(number: float, values: dict[str, Any]) -> Tensor:
        return _core.full((), number, dtype=values["d"].dtype)

    def _loaded(self, values: dict[str, Any], parameter: Tensor) -> dict[str, Any]:
        numbers: dict[str, Any] = {key: float(values[key]) for key in ("H_diag", "t") if values.get(key) is not None}
        if values.get("ro") is not None:
            numbers["ro"] = [float(r) for r in values["ro"]]
        return super()._loaded({key: value for key, value in {**values, **numbers}.items() if key != "al"}, parameter)
