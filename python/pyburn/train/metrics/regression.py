"""Regression metrics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core import Tensor
from .metric import Metric, Ratio, array, check_choice, per_class, widest_float


def _pair(metric: Metric, output: Any, target: Any) -> tuple[np.ndarray, np.ndarray]:
    found, truth = array(output), array(target)
    if found.shape != truth.shape and found.size == truth.size and found.squeeze().shape == truth.squeeze().shape:
        found = found.reshape(truth.shape)  # (n, 1) against (n,)
    if found.shape != truth.shape:
        raise ValueError(f"[{type(metric).__name__}] output and target need one shape: got {found.shape} and {truth.shape}")
    return found.astype(np.float64), truth.astype(np.float64)


class _Error(Ratio):
    higher_is_better = False
    live = True

    def error(self, difference: Any) -> Any:
        """Error per element; called with arrays and with tensors."""
        raise NotImplementedError

    def sums(self, output: Tensor, target: Tensor) -> dict[str, Any] | None:
        if output.shape != target.shape or not output.is_floating_point():
            return None
        wide = widest_float(output.device)
        difference = output.detach().to(wide) - target.detach().to(device=output.device, dtype=wide)
        return {"total": self.error(difference).sum(), "count": output.numel()}

    def measure(self, output: Any, target: Any) -> None:
        found, truth = _pair(self, output, target)
        self.state["total"] += float(self.error(found - truth).sum())
        self.state["count"] += found.size


class MAE(_Error):
    """Mean absolute error.

    >>> mae = pyburn.train.metrics.MAE()
    >>> mae.update([1.0, 2.0], [1.0, 4.0])
    >>> mae.compute()
    1.0
    """

    def error(self, difference: Any) -> Any:
        return abs(difference)


class MSE(_Error):
    """Mean squared error.

    >>> mse = pyburn.train.metrics.MSE()
    >>> mse.update([1.0, 2.0], [1.0, 4.0])
    >>> mse.compute()
    2.0
    """

    def error(self, difference: Any) -> Any:
        return difference * difference


class RMSE(MSE):
    """Root mean squared error.

    >>> rmse = pyburn.train.metrics.RMSE()
    >>> rmse.update([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 8.0])
    >>> rmse.compute()
    2.0
    """

    def compute(self) -> float:
        return math.sqrt(super().compute())


class R2(Metric):
    """Coefficient of determination: 1 is perfect, 0 is as good as predicting the mean.

    Args:
        name: The name of the metric.
        multioutput: How to combine several outputs (the last dimension): "uniform_average", "variance_weighted" or "raw_values" (an array,
            one value per output).

    Raises:
        ValueError: multioutput is unknown.

    >>> r2 = pyburn.train.metrics.R2()
    >>> r2.update([2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0])
    >>> round(r2.compute(), 4)
    0.9486
    """

    exact = False  # Chan's parallel update rounds

    def __init__(self, name: str | None = None, *, multioutput: str = "uniform_average") -> None:
        check_choice(self, "multioutput", multioutput, ("uniform_average", "variance_weighted", "raw_values"))
        self.multioutput = multioutput
        super().__init__(name)

    def initial(self) -> dict[str, Any]:
        empty = np.zeros(0)
        return {"count": 0, "mean": empty, "spread": empty, "errors": empty}

    def measure(self, output: Any, target: Any) -> None:
        found, truth = _pair(self, output, target)
        width = truth.shape[-1] if truth.ndim > 1 else 1
        found, truth = found.reshape(-1, width), truth.reshape(-1, width)
        if len(truth):
            mean = truth.mean(axis=0)
            self._join(len(truth), mean, ((truth - mean) ** 2).sum(axis=0), ((truth - found) ** 2).sum(axis=0))

    def _join(self, count: int, mean: np.ndarray, spread: np.ndarray, errors: np.ndarray) -> None:
        """Merges moments by Chan's parallel update, which avoids cancellation when means are far from zero."""
        state = self.state
        if not count:
            return
        if not state["count"]:
            self.state = {"count": count, "mean": mean, "spread": spread, "errors": errors}
            return
        if mean.shape != state["mean"].shape:
            raise ValueError(f"[R2] the number of outputs changed from {len(state['mean'])} to {len(mean)}")
        total = state["count"] + count
        apart = mean - state["mean"]
        state["spread"] = state["spread"] + spread + apart**2 * (state["count"] * count / total)
        state["mean"] = state["mean"] + apart * (count / total)
        state["errors"] = state["errors"] + errors
        state["count"] = total

    def merge(self, other: Metric) -> None:
        if not isinstance(other, R2):
            raise TypeError(f"[merge] expected an R2: got a {type(other).__name__}")
        self._join(**other.state)

    def compute(self) -> Any:
        values = self._per_output()
        if self.multioutput == "raw_values":
            return values
        spread = self.state["spread"]
        weighted = self.multioutput == "variance_weighted" and spread.any()
        return float(np.average(values, weights=spread if weighted else None)) if len(values) else math.nan

    def _per_output(self) -> np.ndarray:
        spread, errors = self.state["spread"], self.state["errors"]
        if self.state["count"] < 2:
            return np.full(len(spread), math.nan)
        flat = np.where(errors == 0, 1.0, 0.0)  # constant targets: 1 if all predictions are exact, else 0, as in scikit-learn
        return np.divide(-errors, spread, out=flat - 1, where=spread != 0) + 1

    def table(self) -> dict[str, Any] | None:
        return per_class(self._per_output()) if self.multioutput == "raw_values" else None
