"""Optimisers under Keras's names and defaults, over those of pyburn.optim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor, optim

from . import schedules as schedules
from .configured import Named
from .optimizer import Optimizer


class SGD(Optimizer):
    """Gradient descent, with momentum if wanted."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
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
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return type(self).kind(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon)


class Adam(_Moments):
    """Steps scaled by moving averages of the gradient and of its square; with `amsgrad` by the largest of the latter."""

    kind = optim.Adam

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = amsgrad

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Adam(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon, amsgrad=self.amsgrad)


class Adamax(_Moments):
    """Adam with the largest gradient in place of the mean square."""

    kind = optim.Adamax


class Nadam(_Moments):
    """Adam with Nesterov's momentum, which grows sooner than in PyTorch's."""

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.NAdam(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon, momentum_decay=1.0)


class AdamW(_Moments):
    """Adam with weights that decay by themselves."""

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float = 0.004, amsgrad: bool = False, **options: Any) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **options)
        self.amsgrad = amsgrad

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**_Moments.config_arguments(), "amsgrad": False, "weight_decay": 0.004}

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        decay = self.weight_decay or 0.0
        betas = (self.beta_1, self.beta_2)
        return optim.AdamW(parameters, lr=1.0, betas=betas, eps=self.epsilon, weight_decay=decay, amsgrad=self.amsgrad)


class RMSprop(Optimizer):
    """Steps scaled by a moving average of the square of the gradient."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
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
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
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
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho, self.epsilon = rho, epsilon

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Adadelta(parameters, lr=1.0, rho=self.rho, eps=self.epsilon)


class Lion(Optimizer):
    """Steps by the sign of a moving average of the gradient."""

    def __init__(self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, **options: Any) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1, self.beta_2 = beta_1, beta_2

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Lion(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), weight_decay=0.0)


class Wrapped(Optimizer):
    """An optimiser of pyburn.optim: made already, or a function of the parameters that makes one."""

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
        "lion": Lion,
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
