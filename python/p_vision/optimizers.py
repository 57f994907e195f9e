"""Optimisers under Keras's names and defaults, over those of pyburn.optim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor, optim
from pyburn.nn import utils

from .configured import Configured, Named
from .schedules import LearningRateSchedule


class Optimizer(Configured):
    """An optimiser before and while it works: options first, state from the first step on.

    `learning_rate` may be set at any time, and is a number or a schedule of the step.
    """

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None,
        clipnorm: float | None,
        clipvalue: float | None,
        global_clipnorm: float | None,
    ) -> None:
        if sum(limit is not None for limit in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError("[optimizer] give one of clipnorm, clipvalue and global_clipnorm")
        self._rate = learning_rate
        self.weight_decay = weight_decay
        self.clipnorm, self.clipvalue, self.global_clipnorm = clipnorm, clipvalue, global_clipnorm
        self.iterations = 0
        self._inner: optim.Optimizer | None = None

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        """The optimiser of pyburn.optim that does the work."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it works: define make(self, parameters)")

    @property
    def learning_rate(self) -> Any:
        """The rate of the next step, as a number."""
        return self._rate(self.iterations) if isinstance(self._rate, LearningRateSchedule) else self._rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        if isinstance(self._rate, LearningRateSchedule) and not isinstance(value, LearningRateSchedule):
            raise TypeError("[optimizer] the learning rate follows a schedule: give a number to the optimizer to set it yourself")
        self._rate = value

    lr = learning_rate

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "learning_rate": self._rate}

    def follow(self, parameters: Sequence[Tensor]) -> None:
        """Trains these parameters from now on; what is known about those it trained already stays."""
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
        """Called when the parameters have gone to another device: the state follows them."""
        if self._inner is not None:
            self._inner.load_state_dict(self._inner.state_dict())

    def zero_grad(self) -> None:
        if self._inner is not None:
            self._inner.zero_grad()

    def step(self) -> None:
        """One step with the gradients that the parameters have."""
        if self._inner is None:
            raise RuntimeError("[optimizer] no parameters yet: a model that is compiled with it gives them")
        parameters = [p for p in self._trained() if p.grad is not None]
        rate = float(self.learning_rate)
        for group in self._inner.param_groups:
            group["lr"] = rate
        self._clip(parameters)
        if self.weight_decay and not isinstance(self._inner, optim.AdamW):
            with pyburn.no_grad():
                for parameter in parameters:
                    parameter.mul_(1 - rate * self.weight_decay)
        self._inner.step()
        self.iterations += 1

    def minimize(self, loss: Tensor, parameters: Sequence[Tensor]) -> None:
        """One step of these parameters down the gradient of a loss."""
        self.follow(parameters)
        self.zero_grad()
        loss.backward()
        self.step()

    def apply(self, grads: Sequence[Tensor | None], trainable_variables: Sequence[Tensor] | None = None) -> None:
        """One step with gradients of your own; without parameters, those that it trains already."""
        parameters = list(trainable_variables) if trainable_variables is not None else self._trained()
        if len(grads) != len(parameters):
            raise ValueError(f"[optimizer] expected a gradient for each of {len(parameters)} parameters: got {len(grads)}")
        self.follow(parameters)
        self.zero_grad()
        for parameter, grad in zip(parameters, grads):
            parameter.grad = grad
        self.step()

    def apply_gradients(self, grads_and_vars: Any) -> None:
        """One step with pairs of a gradient and its parameter."""
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


class SGD(Optimizer):
    """Gradient descent, with momentum if wanted."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm)
        self.momentum, self.nesterov = momentum, nesterov

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.SGD(parameters, lr=1.0, momentum=self.momentum, nesterov=self.nesterov and self.momentum > 0)


class _Moments(Optimizer):
    """Adam and its relatives."""

    kind: Callable[..., optim.Optimizer]

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return type(self).kind(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon)


class Adam(_Moments):
    """Steps scaled by moving averages of the gradient and of its square."""

    kind = optim.Adam


class Adamax(_Moments):
    """Adam with the largest gradient in place of the mean square."""

    kind = optim.Adamax


class Nadam(_Moments):
    """Adam with Nesterov's momentum."""

    kind = optim.NAdam


class AdamW(_Moments):
    """Adam with weights that decay by themselves."""

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float = 0.004, **options: Any) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **options)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**_Moments.config_arguments(), "weight_decay": 0.004}

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        decay = self.weight_decay or 0.0
        return optim.AdamW(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon, weight_decay=decay)


class RMSprop(Optimizer):
    """Steps scaled by a moving average of the square of the gradient."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return _RMSprop(parameters, rho=self.rho, momentum=self.momentum, epsilon=self.epsilon, centered=self.centered)


class _RMSprop(optim.Optimizer):
    """With epsilon inside of the root, as Keras has it: 1e-7 there is 3e-4 outside of it, where PyTorch has it."""

    def __init__(self, parameters: list[Tensor], rho: float, momentum: float, epsilon: float, centered: bool) -> None:
        super().__init__(parameters, {"lr": 1.0, "rho": rho, "momentum": momentum, "epsilon": epsilon, "centered": centered})

    def step(self, closure: Any = None) -> Any:
        result = None if closure is None else closure()
        with pyburn.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._update(parameter, parameter.grad, self.state[parameter], group)
        return result

    def _update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rate, rho = group["lr"], group["rho"]
        if not state:
            names = ["square", *(["velocity"] if group["momentum"] else []), *(["mean"] if group["centered"] else [])]
            state.update({name: pyburn.zeros_like(parameter) for name in names})
        state["square"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        spread = state["square"]
        if group["centered"]:
            state["mean"].lerp_(grad, 1 - rho)
            spread = spread - state["mean"].square()
        change = grad / (spread + group["epsilon"]).sqrt()
        if group["momentum"]:
            parameter.sub_(state["velocity"].mul_(group["momentum"]).add_(change, alpha=rate))
        else:
            parameter.sub_(change, alpha=rate)


class Adagrad(Optimizer):
    """Steps scaled by the sum of the squares of all gradients."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Adagrad(parameters, lr=1.0, initial_accumulator_value=self.initial_accumulator_value, eps=self.epsilon)


class Adadelta(Optimizer):
    """Steps scaled by moving averages of the squares of gradients and of steps."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
    ) -> None:
        super().__init__(learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm)
        self.rho, self.epsilon = rho, epsilon

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Adadelta(parameters, lr=1.0, rho=self.rho, eps=self.epsilon)


class Wrapped(Optimizer):
    """An optimiser of pyburn.optim: made already, or a function of the parameters that makes one."""

    def __init__(self, inner: Any) -> None:
        made = isinstance(inner, optim.Optimizer)
        super().__init__(inner.param_groups[0]["lr"] if made else None, None, None, None, None)
        self.inner = inner
        self._inner = inner if made else None

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        made = self.inner(parameters)
        self._rate = made.param_groups[0]["lr"]
        return made

    def get_config(self) -> dict[str, Any]:
        return {"inner": self.inner}


_named = Named(
    "optimizer",
    {
        "sgd": SGD,
        "adam": Adam,
        "adamw": AdamW,
        "adamax": Adamax,
        "nadam": Nadam,
        "rmsprop": RMSprop,
        "adagrad": Adagrad,
        "adadelta": Adadelta,
    },
)


def get(identifier: Any) -> Optimizer:
    """The optimiser that a name or an object means: also one of pyburn.optim, or a function of the parameters that gives one."""
    if isinstance(identifier, str):
        return _named(identifier)()
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Optimizer):
        return identifier()  # type: ignore[call-arg]
    if isinstance(identifier, optim.Optimizer) or callable(identifier):
        return Wrapped(identifier)
    raise TypeError(f"an optimizer is a name, an Optimizer or one of pyburn.optim: got {identifier!r}")
