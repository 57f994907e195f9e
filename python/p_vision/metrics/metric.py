"""Metric: values accumulated over batches, exact for batches of different sizes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import pyburn
from pyburn import Tensor, train
from pyburn.train.metrics.metric import MOST_WAITING

from .. import initializers
from ..configured import Configured, snake_case
from ..conversion import dtype_of
from ..dtype_policies import in_full
from ..losses import functions
from ..symbolic.masks import mask_of, spread, weights_of
from ..variables import Gathered


class ForLearner(train.metrics.Metric):
    """A metric with Keras's methods as a metric of `pyburn.train.Learner`."""

    def __init__(self, metric: Any) -> None:
        self.metric, self.higher_is_better = metric, metric.higher_is_better
        super().__init__(metric.name)

    def initial(self) -> dict[str, Any]:
        self.metric.reset_state()
        return {}

    def update(self, output: Any, target: Any) -> None:
        self.metric.update_state(target, output)

    def compute(self) -> Any:
        return self.metric.result()

    def fresh(self) -> Any:
        return ForLearner(copy.deepcopy(self.metric))

    def state_dict(self) -> dict[str, Any]:
        return {str(index): variable.value for index, variable in enumerate(self.metric.variables)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for index, variable in enumerate(self.metric.variables):
            variable.assign(state[str(index)])


class Metric(Configured):
    """Base class of metrics: `update_state` adds a batch, `result` returns the value, `reset_state` starts over.

    A `pyburn.train.Learner` accepts these metrics, too.

    Args:
        dtype: Accepted for compatibility; has no effect.
        name: The name of the metric; by default that of the class in snake case.

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

    learner_adapter: ClassVar[Any] = ForLearner
    name: Any = None
    higher_is_better: bool | None = None  # for callbacks that look for the best value

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
        """Creates a state variable; `reset_state` restores its initial value.

        Args:
            shape: The shape of the variable.
            initializer: The initializer, by name or as an object.
            dtype: The dtype; by default float32.
            name: The name of the variable.

        Returns:
            The variable, with assign, assign_add and assign_sub.
        """
        return Gathered(initializers.get(initializer)([shape] if isinstance(shape, int) else list(shape), dtype_of(dtype)), name)

    add_variable = add_weight

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds a batch.

        Args:
            y_true: The targets.
            y_pred: The outputs.
            sample_weight: The weights of the samples.
        """
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


class Summed(Metric, train.metrics.Metric):  # type: ignore[misc]
    """Base class of metrics that are functions of sums over all samples; it accumulates as `pyburn.train.metrics.Metric` does.

    A subclass lists the names of its sums in `parts`, computes those of a batch in `sums_of` and the value in `compute`.
    """

    parts: ClassVar[tuple[str, ...]]

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.__post_init__()

    def __post_init__(self) -> None:
        self.name = self.name or snake_case(type(self).__name__)
        self.reset()

    def initial(self) -> dict[str, Any]:
        return {part: np.zeros(()) for part in self.parts}

    def sums_of(self, y_true: Tensor, y_pred: Tensor, weight: Tensor) -> dict[str, Any]:
        """Returns the sums of a batch; the three tensors have the same shape."""
        raise NotImplementedError

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        with pyburn.no_grad():
            mask = mask_of(y_pred)
            y_true, y_pred = functions.alike(as_values(y_true), as_values(y_pred))
            given = weights_of(mask, None if sample_weight is None else as_numbers(sample_weight), y_pred, scaled=False)
            weight = pyburn.ones_like(y_pred) if given is None else spread(given, y_pred).expand(y_pred.shape)
            self.add_sums(self.sums_of(y_true, y_pred, weight))

    def add_sums(self, sums: dict[str, Any]) -> None:
        """Adds the sums of a batch; they stay on the device until the result is read."""
        self._waiting.append({part: value.detach() if isinstance(value, Tensor) else value for part, value in sums.items()})
        if len(self._waiting) >= MOST_WAITING:
            self._settle()

    def update(self, output: Any, target: Any) -> None:
        self.update_state(target, output)

    def result(self) -> Any:
        value = np.asarray(self.compute())
        return value if value.ndim else float(value)

    def reset_state(self) -> None:
        self.reset()


class Sum(Summed):
    """The weighted sum of values.

    Args:
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    >>> total = p_vision.metrics.Sum()
    >>> total.update_state([1.0, 2.0])
    >>> total.update_state([3.0])
    >>> total.result()
    6.0
    """

    parts = ("total", "weight")

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name)

    def update_state(self, values: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Adds values, each multiplied by its weight.

        Args:
            values: The values.
            sample_weight: Their weights.
        """
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
        """Adds a sum of values and the sum of their weights.

        Args:
            total: The sum of the values.
            weight: The sum of the weights.
        """
        self.add_sums({"total": total, "weight": weight})

    def compute(self) -> Any:
        return self.state["total"]


class Mean(Sum):
    """The weighted mean of values.

    Args:
        name: The name of the metric.
        dtype: Accepted for compatibility; has no effect.

    >>> p_vision.metrics.Mean()([1.0, 3.0], sample_weight=[3.0, 1.0])
    1.5
    """

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name)

    def compute(self) -> Any:
        return self.state["total"] / self.state["weight"] if self.state["weight"] else 0.0


class MeanMetric(Mean):
    """The mean of a function of (y_true, y_pred) over samples.

    Args:
        fn: The function, which returns one value per sample.
        name: The name of the metric; by default that of the function.
        dtype: Accepted for compatibility; has no effect.
        **options: Options of the function.

    >>> p_vision.metrics.MeanMetric(lambda y_true, y_pred: (y_true - y_pred).abs())(pyburn.tensor([1.0]), pyburn.tensor([3.0]))
    2.0
    """

    def __init__(self, fn: Callable[..., Tensor], name: str | None = None, dtype: Any = None, **options: Any) -> None:
        super().__init__(name or str(getattr(fn, "__name__", "metric")))
        self.fn, self.options = fn, options

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        with pyburn.no_grad():
            y_true, y_pred = as_values(y_true), as_values(y_pred)
            values = self.fn(y_true, y_pred, **self.options).float()
            weight = None if sample_weight is None else as_numbers(sample_weight)
            super().update_state(values, weights_of(mask_of(y_pred), weight, values, scaled=False))


class OfLearner(Metric):
    """A metric of `pyburn.train.metrics` with Keras's methods; sample weights are not supported."""

    def __init__(self, metric: train.metrics.Metric) -> None:
        super().__init__(name=metric.name)
        self.metric, self.higher_is_better = metric, metric.higher_is_better

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        if sample_weight is not None:
            raise ValueError(f"[{self.name}] a metric of pyburn.train takes no sample weights: give it as metrics, not as weighted_metrics")
        self.metric.update(y_pred, y_true)

    def result(self) -> Any:
        return self.metric.compute()

    def reset_state(self) -> None:
        self.metric.reset()


def as_values(value: Any) -> Tensor:
    """Converts an array to a tensor; float16 and bfloat16 become float32."""
    return in_full(value) if isinstance(value, Tensor) else pyburn.as_tensor(value)


def as_numbers(value: Any) -> Tensor:
    """Converts an array to a floating-point tensor."""
    return as_values(value).detach().float()
