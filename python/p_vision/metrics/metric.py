"""Metric: values accumulated over batches, exact for batches of different sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor

from .. import initializers
from ..configured import Configured, snake_case
from ..dtype_policies import in_full
from ..layer import dtype_of
from ..symbolic.masks import mask_of, spread, weights_of
from ..variables import Gathered


class Metric(Configured):
    """Base class of metrics: `update_state` adds a batch, `result` returns the value, `reset_state` starts over.

    >>> class Largest(p_vision.Metric):
    ...     def __init__(self, name="largest"):
    ...         super().__init__(name=name)
    ...         self.value = self.add_weight(name="value", initializer="zeros")
    ...     def update_state(self, y_true, y_pred, sample_weight=None):
    ...         self.value.assign(pyburn.maximum(self.value.value, y_pred.max()))
    ...     def result(self):
    ...         return self.value
    >>> float(Largest()([0.0], pyburn.tensor([0.25, 0.5])))
    0.5
    """

    name: str = "metric"
    _direction: str | None = None  # "up" if higher is better, for callbacks that look for the best value

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        self.name = name or snake_case(type(self).__name__)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {key: default for key, default in super().config_arguments().items() if key != "dtype"}

    @classmethod
    def saved_name(cls) -> str:
        return f"metrics.{cls.__name__}"  # some losses have the same names

    @property
    def variables(self) -> list[Gathered]:
        """The state variables of the metric."""
        return [value for value in vars(self).values() if isinstance(value, Gathered)]

    def add_weight(self, shape: Any = (), initializer: Any = "zeros", dtype: Any = None, name: str | None = None) -> Gathered:
        """Creates a state variable; `reset_state` restores its initial value."""
        return Gathered(initializers.get(initializer)([shape] if isinstance(shape, int) else list(shape), dtype_of(dtype)), name)

    add_variable = add_weight

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds a batch."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what it gathers: define update_state(self, y_true, y_pred, sample_weight)"
        )

    def result(self) -> Any:
        """Returns the value over all batches since the last reset."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it finds: define result(self)")

    def reset_state(self) -> None:
        """Resets the state."""
        for variable in self.variables:
            variable.reset()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.update_state(*args, **kwargs)
        return self.result()


class Sum(Metric):
    """The weighted sum of values. Values stay on the device until `result`."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        self.name = name
        self.reset_state()

    def reset_state(self) -> None:
        self._total: Any = 0.0
        self._weight: Any = 0.0

    def update_state(self, values: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Adds values, each multiplied by its weight."""
        with pyburn.no_grad():
            numbers = as_numbers(values)
            if sample_weight is None:
                self.add(numbers.sum(), numbers.numel())
            else:
                weight = as_numbers(sample_weight)
                if weight.ndim == numbers.ndim + 1 and weight.shape[-1] == 1:
                    weight = weight.squeeze(-1)
                weight = spread(weight, numbers).expand(numbers.shape)
                self.add((numbers * weight).sum(), weight.sum())

    def add(self, total: Any, weight: Any) -> None:
        self._total = self._total + total
        self._weight = self._weight + weight

    def result(self) -> float:
        return float(self._total)


class Mean(Sum):
    """The weighted mean of values."""

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name)

    def result(self) -> float:
        weight = float(self._weight)
        return float(self._total) / weight if weight else 0.0


class MeanMetric(Mean):
    """The mean of a function of (y_true, y_pred) over samples; options are passed to the function."""

    def __init__(self, fn: Callable[..., Tensor], name: str | None = None, dtype: Any = None, **options: Any) -> None:
        super().__init__(name or str(getattr(fn, "__name__", "metric")))
        self.fn, self.options = fn, options

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        with pyburn.no_grad():
            y_true, y_pred = as_values(y_true), as_values(y_pred)
            values = self.fn(y_true, y_pred, **self.options).float()
            weight = None if sample_weight is None else as_numbers(sample_weight)
            super().update_state(values, weights_of(mask_of(y_pred), weight, values, scaled=False))


def as_values(value: Any) -> Tensor:
    """Converts an array to a tensor; float16 and bfloat16 become float32."""
    return in_full(value) if isinstance(value, Tensor) else pyburn.as_tensor(value)


def as_numbers(value: Any) -> Tensor:
    """Converts an array to a floating-point tensor."""
    return as_values(value).detach().float()
