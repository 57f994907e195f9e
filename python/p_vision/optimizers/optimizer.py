"""Optimizer: an optimizer of pyburn.optim with Keras's arguments and methods."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import pyburn
from pyburn import Tensor, optim
from pyburn.nn import utils

from .. import initializers
from ..configured import Configured
from ..variables import state
from .rate import Rate
from .schedules import LearningRateSchedule
from .steps import OwnSteps


@dataclass(eq=False, repr=False)
class Optimizer(Configured):
    """Base class of optimizers; the state is created at the first step.

    Args:
        learning_rate: A number or a schedule; it can be set at any time.
        weight_decay: The decoupled weight decay.
        clipnorm: The maximum norm of each gradient.
        clipvalue: The maximum absolute value of gradient elements.
        global_clipnorm: The maximum norm of all gradients together.
        use_ema: Replaces the weights by their moving averages every `ema_overwrite_frequency` steps and when training ends.
        ema_momentum: The decay of the moving averages.
        ema_overwrite_frequency: The number of steps between replacements; None for only at the end of training.
        gradient_accumulation_steps: The number of batches per step, which uses the mean of their gradients.
        loss_scale_factor: The loss is multiplied by it, and the gradients are divided by it.
        name: The name of the optimizer.

    Raises:
        ValueError: More than one of clipnorm, clipvalue and global_clipnorm is given.

    >>> class Descent(p_vision.Optimizer):
    ...     def update_step(self, gradient, variable, learning_rate):
    ...         variable.assign_sub(learning_rate * gradient)
    >>> weight = p_vision.Variable([1.0])
    >>> Descent(learning_rate=0.5).apply([pyburn.tensor([1.0])], [weight])
    >>> weight.tolist()
    [0.5]
    """

    kind: ClassVar[Any] = None  # creates the optimizer of pyburn.optim
    renamed: ClassVar[dict[str, Any]] = {}  # its options, and the attributes (or a tuple of them) that have their values
    learning_rate: Any = Rate()
    _: KW_ONLY
    weight_decay: float | None = None
    clipnorm: float | None = None
    clipvalue: float | None = None
    global_clipnorm: float | None = None
    use_ema: bool = False
    ema_momentum: float = 0.99
    ema_overwrite_frequency: int | None = None
    gradient_accumulation_steps: int | None = None
    loss_scale_factor: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if sum(limit is not None for limit in (self.clipnorm, self.clipvalue, self.global_clipnorm)) > 1:
            raise ValueError("[optimizer] give one of clipnorm, clipvalue and global_clipnorm")
        self._rate: Any = self.__dict__.get("_rate")  # stored by Rate
        self.iterations = 0
        self._last_rate: float | None = None  # of the last step
        self._sums: dict[int, Tensor] = {}  # accumulated gradients
        self._averages: dict[int, Tensor] = {}  # moving averages of the weights
        self._undecayed: set[int] = set()
        self._undecayed_names: list[str] = []
        self._inner: optim.Optimizer | None = None

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        """Creates the underlying optimizer of pyburn.optim. For a custom subclass it calls `update_step` for each weight.

        Args:
            parameters: The parameters to train.

        Returns:
            The optimizer.

        Raises:
            NotImplementedError: The subclass does not define update_step.
        """
        if self.kind is not None:
            values = {
                theirs: getattr(self, ours) if isinstance(ours, str) else tuple(getattr(self, name) for name in ours)
                for theirs, ours in self.renamed.items()
            }
            return type(self).kind(parameters, lr=1.0, **values)
        if type(self).update_step is Optimizer.update_step:
            raise NotImplementedError(
                f"{type(self).__name__} does not say how it works: define update_step(self, gradient, variable, learning_rate)"
            )
        self.build(parameters)
        return OwnSteps(parameters, self)

    def build(self, variables: Sequence[Tensor]) -> None:
        """Creates the state of a custom optimizer; called before the first step.

        Args:
            variables: The parameters to train.
        """

    def update_step(self, gradient: Tensor, variable: Tensor, learning_rate: float) -> None:
        """Updates one weight; a custom optimizer defines it.

        Args:
            gradient: The gradient.
            variable: The weight, to be changed in place.
            learning_rate: The learning rate.
        """

    def add_variable_from_reference(self, reference_variable: Tensor, name: str | None = None, initializer: Any = "zeros") -> Tensor:
        """Creates a state tensor with the shape and the device of a weight.

        Args:
            reference_variable: The weight.
            name: The name of the state.
            initializer: The initializer, by name or as an object.

        Returns:
            The tensor, with assign, assign_add and assign_sub.
        """
        values = initializers.get(initializer)(list(reference_variable.shape), reference_variable.dtype)
        return state(values.to(device=reference_variable.device), name)

    def assign(self, variable: Tensor, value: Any) -> None:
        with pyburn.no_grad():
            variable.copy_(pyburn.as_tensor(value))

    def assign_add(self, variable: Tensor, value: Any) -> None:
        with pyburn.no_grad():
            variable.add_(value)

    def assign_sub(self, variable: Tensor, value: Any) -> None:
        with pyburn.no_grad():
            variable.sub_(value)

    @property
    def variables(self) -> list[Any]:
        """The state of the optimizer, as tensors and numbers."""
        kept = self._inner.state_dict()["state"] if self._inner is not None else {}
        return [self.iterations, self.learning_rate, *(value for part in kept.values() for value in part.values())]

    def exclude_from_weight_decay(self, var_list: Sequence[Tensor] | None = None, var_names: Sequence[str] | None = None) -> None:
        """Excludes weights from weight decay.

        Args:
            var_list: The weights.
            var_names: Parts of the names of weights, as regular expressions.
        """
        self._undecayed = {id(variable) for variable in var_list or ()}
        self._undecayed_names = list(var_names or ())

    def decay_of(self, parameter: Tensor) -> float | None:
        """Returns the weight decay of a weight.

        Args:
            parameter: The weight.
        """
        return self.weight_decay

    def _decays(self, parameter: Tensor) -> bool:
        name = getattr(parameter, "name", None) or ""
        return id(parameter) not in self._undecayed and not any(re.search(part, name) for part in self._undecayed_names)

    def scale_loss(self, loss: Any) -> Any:
        """Multiplies the loss by `loss_scale_factor`; `step` divides the gradients by it.

        Args:
            loss: The loss.

        Returns:
            The scaled loss.
        """
        return loss * self.loss_scale_factor if self.loss_scale_factor else loss

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The trained parameters and the learning rate, in the form of pyburn.optim, for `pyburn.train`."""
        rate = self.learning_rate
        return [{"params": self._trained(), "lr": math.nan if rate is None else float(rate)}]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "learning_rate": self._rate}

    def follow(self, parameters: Sequence[Tensor]) -> None:
        """Sets the parameters to train; keeps the state of parameters that are already trained.

        Args:
            parameters: The parameters.

        Raises:
            ValueError: There are no parameters.
        """
        if self._inner is None:
            if not parameters:
                raise ValueError("[optimizer] there is nothing to train: the model has no weights, or all of them are frozen")
            self._inner = self.make(list(parameters))
            return
        known = {id(p) for group in self._inner.param_groups for p in group["params"]}
        new = [p for p in parameters if id(p) not in known]
        if new:
            self._inner.add_param_group({"params": new})

    def moved(self) -> None:
        """Moves the state to the device of the parameters; called after they have moved."""
        if self._inner is not None:
            self._inner.load_state_dict(self._inner.state_dict())
        for held in (self._averages, self._sums):
            held.update({id(p): held[id(p)].to(p.device) for p in self._trained() if id(p) in held})

    def notes(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Returns the state for a file: numbers, and tensors by name."""
        kept = self._inner.state_dict() if self._inner is not None else {"state": {}}
        numbers: dict[str, Any] = {}
        tensors: dict[str, Tensor] = {}
        for place, part in kept["state"].items():
            for name, value in part.items():
                (tensors if isinstance(value, Tensor) else numbers)[f"optimizer.{place}.{name}"] = value
        for place, parameter in enumerate(self._trained()):
            for kind, held in (("average", self._averages), ("sum", self._sums)):
                if id(parameter) in held:
                    tensors[f"{kind}.{place}"] = held[id(parameter)]
        rate = None if isinstance(self._rate, LearningRateSchedule) or self._rate is None else float(self._rate)
        return {"iterations": self.iterations, "rate": rate, "last_rate": self._last_rate, "state": numbers}, tensors

    def restore(self, parameters: Sequence[Tensor], tensors: Any, notes: dict[str, Any]) -> None:
        """Restores the state returned by `notes`.

        Args:
            parameters: The trained parameters, in the same order.
            tensors: The tensors of the state, by name.
            notes: The numbers of the state.
        """
        self.follow(parameters)
        assert self._inner is not None
        state: dict[int, dict[str, Any]] = {}
        found = {**notes["state"], **{name: tensors[name] for name in tensors if name.startswith("optimizer.")}}
        for key, value in found.items():
            _, place, name = key.split(".", 2)
            state.setdefault(int(place), {})[name] = value
        self._inner.load_state_dict({**self._inner.state_dict(), "state": state})
        for kind, held in (("average", self._averages), ("sum", self._sums)):
            kept = {place: tensors.get(f"{kind}.{place}") for place in range(len(parameters))}
            held.update({id(parameters[place]): value.to(parameters[place].device) for place, value in kept.items() if value is not None})
        self.iterations = int(notes["iterations"])
        self._last_rate = None if notes.get("last_rate") is None else float(notes["last_rate"])
        if notes["rate"] is not None:
            self._rate = notes["rate"]

    def zero_grad(self) -> None:
        if self._inner is not None:
            self._inner.zero_grad()

    def step(self) -> None:
        """Runs one step with the gradients of the parameters.

        Raises:
            RuntimeError: The optimizer has no parameters yet.
        """
        if self._inner is None:
            raise RuntimeError("[optimizer] no parameters yet: a model that is compiled with it gives them")
        parameters = [p for p in self._trained() if p.grad is not None]
        if not self._is_due(parameters):
            return
        rate = float(self.learning_rate)
        for group in self._inner.param_groups:
            group["lr"] = rate
        if self.loss_scale_factor:
            with pyburn.no_grad():
                for parameter in parameters:
                    grad: Any = parameter.grad
                    grad.div_(self.loss_scale_factor)
        self._clip(parameters)
        with pyburn.no_grad():
            for parameter in parameters:
                decay = self.decay_of(parameter)
                if decay and self._decays(parameter):
                    parameter.mul_(1 - rate * decay)
        self._before_step(rate)
        self._last_rate = rate
        self._inner.step()
        self.iterations += 1
        if self.use_ema:
            self._average(parameters)

    def _before_step(self, rate: float) -> None:
        """Adjusts the underlying optimizer if Keras's formula differs."""

    def _steps(self) -> int:
        """Returns the number of steps; batches that only accumulate gradients do not count."""
        return self.iterations // (self.gradient_accumulation_steps or 1)

    def _is_due(self, parameters: list[Tensor]) -> bool:
        """Returns whether this batch completes a step; then the gradients are replaced by the accumulated means."""
        count = self.gradient_accumulation_steps
        if not count or count < 2:
            return True
        due = (self.iterations + 1) % count == 0
        with pyburn.no_grad():
            for parameter in parameters:
                grad: Any = parameter.grad
                total = grad + self._sums.pop(id(parameter), 0.0)
                if due:
                    parameter.grad = total / count
                else:
                    self._sums[id(parameter)] = total
        if not due:
            self.iterations += 1
        return due

    def _average(self, parameters: list[Tensor]) -> None:
        with pyburn.no_grad():
            for parameter in parameters:
                average = self._averages.setdefault(id(parameter), parameter.detach().clone())
                average.lerp_(parameter, 1 - self.ema_momentum)
        if self.ema_overwrite_frequency and self.iterations % self.ema_overwrite_frequency == 0:
            self.finalize_variable_values(parameters)

    def finalize_variable_values(self, parameters: Sequence[Tensor]) -> None:
        """Replaces the weights by their moving averages, if there are any.

        Args:
            parameters: The weights.
        """
        with pyburn.no_grad():
            for parameter in parameters:
                if id(parameter) in self._averages:
                    parameter.copy_(self._averages[id(parameter)])

    def minimize(self, loss: Tensor, parameters: Sequence[Tensor]) -> None:
        """Runs the backward pass and one step for these parameters.

        Args:
            loss: The loss, a scalar.
            parameters: The parameters to train.
        """
        self.follow(parameters)
        self.zero_grad()
        self.scale_loss(loss).backward()
        self.step()

    def apply(self, grads: Sequence[Tensor | None], trainable_variables: Sequence[Tensor] | None = None) -> None:
        """Runs one step with the given gradients.

        Args:
            grads: The gradients, one for each parameter.
            trainable_variables: The parameters; by default those that it already trains.

        Raises:
            ValueError: The numbers of gradients and parameters differ.
        """
        parameters = list(trainable_variables) if trainable_variables is not None else self._trained()
        if len(grads) != len(parameters):
            raise ValueError(f"[optimizer] expected a gradient for each of {len(parameters)} parameters: got {len(grads)}")
        self.follow(parameters)
        self.zero_grad()
        for parameter, grad in zip(parameters, grads):
            parameter.grad = grad
        self.step()

    def apply_gradients(self, grads_and_vars: Any) -> None:
        """Runs one step with pairs (gradient, parameter).

        Args:
            grads_and_vars: The pairs.
        """
        pairs = list(grads_and_vars)
        self.apply([grad for grad, _ in pairs], [parameter for _, parameter in pairs])

    def _trained(self) -> list[Tensor]:
        return [p for group in self._inner.param_groups for p in group["params"]] if self._inner is not None else []

    def _clip(self, parameters: list[Tensor]) -> None:
        if self.clipvalue is not None:
            utils.clip_grad_value_(parameters, self.clipvalue)
        elif self.global_clipnorm is not None:
            utils.clip_grad_norm_(parameters, self.global_clipnorm)
        elif self.clipnorm is not None:
            for parameter in parameters:
                utils.clip_grad_norm_([parameter], self.clipnorm)
