"""Optimizers with Keras's names and defaults, based on pyburn.optim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor, optim

from ..configured import Registry, serialize
from . import schedules as schedules
from .algorithms import SGD as SGD
from .algorithms import Adadelta as Adadelta
from .algorithms import Adafactor as Adafactor
from .algorithms import Adagrad as Adagrad
from .algorithms import Adam as Adam
from .algorithms import Adamax as Adamax
from .algorithms import AdamW as AdamW
from .algorithms import Lamb as Lamb
from .algorithms import Lion as Lion
from .algorithms import Nadam as Nadam
from .algorithms import RMSprop as RMSprop
from .leaders import Ftrl as Ftrl
from .leaders import Muon as Muon
from .optimizer import Optimizer


class LossScaleOptimizer(Optimizer):
    """Wraps an optimizer for float16 gradients: scales the loss, and unscales the gradients before the step.

    A step with non-finite gradients is skipped and halves the scale.

    Args:
        inner_optimizer: The optimizer, or its name.
        initial_scale: The first scale of the loss.
        dynamic_growth_steps: The number of successful steps that double the scale.
        name: The name of the optimizer.

    >>> p_vision.optimizers.LossScaleOptimizer("adam").scale_loss(2.0)
    65536.0
    """

    def __init__(
        self, inner_optimizer: Any, initial_scale: float = 2.0**15, dynamic_growth_steps: int = 2000, name: str | None = None
    ) -> None:
        self.inner_optimizer = get(inner_optimizer)
        super().__init__(None, name=name, use_ema=self.inner_optimizer.use_ema)
        self.initial_scale, self.dynamic_growth_steps = initial_scale, dynamic_growth_steps
        self.dynamic_scale, self.step_counter = float(initial_scale), 0

    @property
    def learning_rate(self) -> Any:
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if value is not None:  # that of the base class
            self.inner_optimizer.learning_rate = value

    def get_config(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.config_arguments()}

    def scale_loss(self, loss: Any) -> Any:
        return loss * self.dynamic_scale

    def follow(self, parameters: Sequence[Tensor]) -> None:
        self.inner_optimizer.follow(parameters)

    def moved(self) -> None:
        self.inner_optimizer.moved()

    def zero_grad(self) -> None:
        self.inner_optimizer.zero_grad()

    def step(self) -> None:
        grads = [parameter.grad for parameter in self._trained() if parameter.grad is not None]
        if grads and not pyburn.stack([grad.isfinite().all() for grad in grads]).all():  # one device read for all gradients
            self.dynamic_scale, self.step_counter = self.dynamic_scale / 2, 0
            return
        with pyburn.no_grad():
            for grad in grads:
                grad.div_(self.dynamic_scale)
        self.inner_optimizer.step()
        self.iterations = self.inner_optimizer.iterations
        self.step_counter += 1
        if self.step_counter == self.dynamic_growth_steps:
            self.dynamic_scale, self.step_counter = self.dynamic_scale * 2, 0

    def notes(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        notes, tensors = self.inner_optimizer.notes()
        return {**notes, "scale": self.dynamic_scale, "good_steps": self.step_counter}, tensors

    def restore(self, parameters: Sequence[Tensor], tensors: Any, notes: dict[str, Any]) -> None:
        self.inner_optimizer.restore(parameters, tensors, notes)
        self.dynamic_scale = float(notes.get("scale", self.dynamic_scale))
        self.step_counter = int(notes.get("good_steps", self.step_counter))

    def finalize_variable_values(self, parameters: Sequence[Tensor]) -> None:
        self.inner_optimizer.finalize_variable_values(parameters)

    def _trained(self) -> list[Tensor]:
        return self.inner_optimizer._trained()


class Wrapped(Optimizer):
    """Wraps an optimizer of pyburn.optim, or a function that creates one from the parameters."""

    def __init__(self, inner: Any) -> None:
        made = isinstance(inner, optim.Optimizer)
        super().__init__(inner.param_groups[0]["lr"] if made else None)
        self.inner = inner
        self._inner = inner if made else None

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        made = self.inner(parameters)
        self._rate = made.param_groups[0]["lr"]
        return made

    def get_config(self) -> dict[str, Any]:
        return {"inner": self.inner}


_ALL = (SGD, Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, Ftrl, Lamb, Lion, Muon, Nadam, RMSprop)
_table = {cls.__name__.lower(): cls for cls in _ALL}
get = Registry("optimizer", Optimizer, _table, wrap=lambda made, name: Wrapped(made), wraps=optim.Optimizer)
deserialize = get.deserialize
__all__ = [name for name, value in globals().items() if isinstance(value, type) and issubclass(value, Optimizer)]
__all__ += ["deserialize", "get", "schedules", "serialize"]
