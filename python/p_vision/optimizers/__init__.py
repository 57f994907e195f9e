"""Optimizers with Keras's names and defaults, based on pyburn.optim."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor, optim

from ..configured import Named, arguments, deserializer, serialize
from . import schedules as schedules
from .optimizer import Optimizer
from .steps import FactoredSteps, LayerwiseSteps, LeaderSteps, OrthogonalSteps, RootMeanSquareSteps


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum."""

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

    def _before_step(self, rate: float) -> None:
        # Keras accumulates steps, PyTorch gradients: when the learning rate changes, past steps keep the old one.
        before = self._last_rate
        if self.momentum and before and rate and before != rate and self._inner is not None:
            with pyburn.no_grad():
                for kept in self._inner.state.values():
                    if kept.get("momentum_buffer") is not None:
                        kept["momentum_buffer"].mul_(before / rate)


class _Moments(Optimizer):
    """Base class of Adam variants."""

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


class _Corrected(_Moments):
    """Base class of optimizers whose epsilon Keras adds before the bias correction."""

    def _before_step(self, rate: float) -> None:
        if self._inner is not None:
            epsilon = self.epsilon / math.sqrt(1 - self.beta_2 ** (self._steps() + 1))
            for group in self._inner.param_groups:
                group["eps"] = epsilon


class Adam(_Corrected):
    """Adam: steps scaled by moving averages of the gradient and its square; `amsgrad` uses the maximum of the latter."""

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
    """Adamax: Adam with the infinity norm of the gradients."""

    kind = optim.Adamax


class Nadam(_Moments):
    """Nadam: Adam with Nesterov momentum. Keras's momentum schedule grows faster than PyTorch's."""

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.NAdam(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon, momentum_decay=1.0)


class AdamW(_Corrected):
    """Adam with decoupled weight decay."""

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float = 0.004, amsgrad: bool = False, **options: Any) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **options)
        self.amsgrad = amsgrad

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**_Moments.config_arguments(), "amsgrad": False, "weight_decay": 0.004}

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        betas = (self.beta_1, self.beta_2)  # weight decay is applied before the step, as in all optimizers here
        return optim.Adam(parameters, lr=1.0, betas=betas, eps=self.epsilon, amsgrad=self.amsgrad)


class RMSprop(Optimizer):
    """RMSprop: steps scaled by a moving average of the squared gradient."""

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
        return RootMeanSquareSteps(parameters, rho=self.rho, momentum=self.momentum, epsilon=self.epsilon, centered=self.centered)


class Adagrad(Optimizer):
    """Adagrad: steps scaled by the sum of all squared gradients."""

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
    """Adadelta: steps scaled by moving averages of squared gradients and squared steps."""

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
    """Lion: steps by the sign of a moving average of the gradient."""

    def __init__(self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, **options: Any) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1, self.beta_2 = beta_1, beta_2

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Lion(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), weight_decay=0.0)


class Lamb(_Moments):
    """LAMB: Adam with layer-wise scaling of the step by the norm of the weight, for large batches."""

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return LayerwiseSteps(parameters, beta_1=self.beta_1, beta_2=self.beta_2, epsilon=self.epsilon)


class Adafactor(Optimizer):
    """Adafactor: Adam with factored second moments, which needs less memory."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_2_decay, self.epsilon_1, self.epsilon_2 = beta_2_decay, epsilon_1, epsilon_2
        self.clip_threshold, self.relative_step = clip_threshold, relative_step

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        options = {"decay": self.beta_2_decay, "epsilon_1": self.epsilon_1, "epsilon_2": self.epsilon_2, "threshold": self.clip_threshold}
        return FactoredSteps(parameters, **options)


class Ftrl(Optimizer):
    """FTRL (follow the regularized leader); an L1 strength makes the weights of rare features zero."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        if learning_rate_power > 0:
            raise ValueError(f"[Ftrl] learning_rate_power must be at most 0: got {learning_rate_power}")
        self.learning_rate_power, self.initial_accumulator_value, self.beta = learning_rate_power, initial_accumulator_value, beta
        self.l1_regularization_strength, self.l2_regularization_strength = l1_regularization_strength, l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        strengths = (l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength)
        if min(*strengths, initial_accumulator_value) < 0:
            raise ValueError("[Ftrl] strengths and initial_accumulator_value must be at least 0")

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return LeaderSteps(
            parameters,
            power=self.learning_rate_power,
            start=self.initial_accumulator_value,
            l1=self.l1_regularization_strength,
            l2=self.l2_regularization_strength,
            shrinkage=self.l2_shrinkage_regularization_strength,
            beta=self.beta,
        )


class Muon(Optimizer):
    """Muon: orthogonalized momentum for matrices; other weights, and by default embeddings, are trained by Adam."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        adam_beta_1: float = 0.9,
        adam_beta_2: float = 0.999,
        adam_weight_decay: float = 0.004,
        epsilon: float = 1e-7,
        weight_decay: float = 0.004,
        exclude_embeddings: bool = True,
        muon_a: float = 3.4445,
        muon_b: float = -4.7750,
        muon_c: float = 2.0315,
        adam_lr_ratio: float = 1.0,
        momentum: float = 0.95,
        ns_steps: int = 5,
        nesterov: bool = True,
        rms_rate: float | None = 0.2,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, weight_decay=weight_decay, **options)
        self.adam_beta_1, self.adam_beta_2, self.adam_weight_decay, self.epsilon = adam_beta_1, adam_beta_2, adam_weight_decay, epsilon
        self.exclude_embeddings, self.muon_a, self.muon_b, self.muon_c = exclude_embeddings, muon_a, muon_b, muon_c
        self.adam_lr_ratio, self.momentum, self.ns_steps, self.nesterov, self.rms_rate = (
            adam_lr_ratio,
            momentum,
            ns_steps,
            nesterov,
            rms_rate,
        )

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return OrthogonalSteps(
            parameters,
            betas=(self.adam_beta_1, self.adam_beta_2),
            epsilon=self.epsilon,
            polynomial=(self.muon_a, self.muon_b, self.muon_c),
            adam_ratio=self.adam_lr_ratio,
            momentum=self.momentum,
            iterations=self.ns_steps,
            nesterov=self.nesterov,
            rms_rate=self.rms_rate,
            embeddings=not self.exclude_embeddings,
        )

    def decay_of(self, parameter: Tensor) -> float | None:
        turned = OrthogonalSteps.turns(parameter, embeddings=not self.exclude_embeddings)
        return self.weight_decay if turned else self.adam_weight_decay


class LossScaleOptimizer(Optimizer):
    """Wraps an optimizer for float16 gradients: scales the loss, and unscales the gradients before the step.

    A step with non-finite gradients is skipped and halves the scale; `dynamic_growth_steps` successful steps double it.
    """

    def __init__(
        self, inner_optimizer: Any, initial_scale: float = 2.0**15, dynamic_growth_steps: int = 2000, name: str | None = None
    ) -> None:
        self.inner_optimizer = get(inner_optimizer)
        super().__init__(None, name=name)
        self.use_ema = self.inner_optimizer.use_ema
        self.initial_scale, self.dynamic_growth_steps = initial_scale, dynamic_growth_steps
        self.dynamic_scale, self.step_counter = float(initial_scale), 0

    @property
    def learning_rate(self) -> Any:
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.inner_optimizer.learning_rate = value

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return arguments(cls)

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
        "lamb": Lamb,
        "adafactor": Adafactor,
        "ftrl": Ftrl,
        "muon": Muon,
    },
)


def get(identifier: Any) -> Optimizer:
    """Returns the optimizer for a name, a class, an Optimizer, an optimizer of pyburn.optim or a function of the parameters."""
    if isinstance(identifier, str):
        return _named(identifier)()
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Optimizer):
        return identifier()  # type: ignore[call-arg]
    if isinstance(identifier, optim.Optimizer) or callable(identifier):
        return Wrapped(identifier)
    raise TypeError(f"an optimizer is a name, an Optimizer or one of pyburn.optim: got {identifier!r}")


deserialize = deserializer(get)
__all__ = [name for name, value in globals().items() if isinstance(value, type) and issubclass(value, Optimizer)]
__all__ += ["deserialize", "get", "schedules", "serialize"]
