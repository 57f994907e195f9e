"""Optimizer steps that pyburn.optim does not have, or whose formulas differ in Keras; used by the classes of `optimizers`."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor, optim


class Steps(optim.Optimizer):
    """Base class: updates the parameters one by one with `update`."""

    def __init__(self, parameters: list[Tensor], **options: Any) -> None:
        super().__init__(parameters, {"lr": 1.0, **options})

    def step(self, closure: Any = None) -> Any:
        result = None if closure is None else closure()
        with pyburn.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self.update(parameter, parameter.grad, self.state[parameter], group)
        return result

    def update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Updates one parameter; `state` is empty before the first step."""
        raise NotImplementedError


class RootMeanSquareSteps(Steps):
    """RMSprop with epsilon inside the square root, as in Keras: 1e-7 there corresponds to 3e-4 outside, where PyTorch adds it."""

    def update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
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


def _adam_change(grad: Tensor, state: dict[str, Any], beta_1: float, beta_2: float) -> tuple[Tensor, Tensor]:
    """Returns the bias-corrected mean of the gradients and the root of their mean square."""
    if not state:
        state.update(step=0, mean=pyburn.zeros_like(grad), square=pyburn.zeros_like(grad))
    state["step"] += 1
    state["mean"].lerp_(grad, 1 - beta_1)
    state["square"].lerp_(grad.square(), 1 - beta_2)
    return state["mean"] / (1 - beta_1 ** state["step"]), (state["square"] / (1 - beta_2 ** state["step"])).sqrt()


class LayerwiseSteps(Steps):
    """The LAMB step."""

    def update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        mean, root = _adam_change(grad, state, group["beta_1"], group["beta_2"])
        change = mean / (root + group["epsilon"])
        weight_norm, change_norm = parameter.square().sum().sqrt(), change.square().sum().sqrt()
        both = (weight_norm > 0) & (change_norm > 0)
        ratio = pyburn.where(both, weight_norm / pyburn.where(both, change_norm, 1.0), 1.0)
        parameter.sub_(ratio * change, alpha=group["lr"])


class LeaderSteps(Steps):
    """The FTRL step."""

    def update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rate, power = group["lr"], -group["power"]
        if not state:
            state.update(squares=pyburn.full_like(parameter, group["start"]), linear=pyburn.zeros_like(parameter))
        before, after = state["squares"].pow(power), (state["squares"] + grad.square()).pow(power)
        state["squares"].add_(grad.square())
        state["linear"].add_(grad + 2 * group["shrinkage"] * parameter - (after - before) / rate * parameter)
        quadratic = after / rate + 2 * (group["l2"] + group["beta"] / (2 * rate))
        parameter.copy_((state["linear"].clamp(-group["l1"], group["l1"]) - state["linear"]) / quadratic)


class OrthogonalSteps(Steps):
    """The Muon step: the momentum of a matrix is approximately orthogonalized by a few polynomial iterations."""

    @staticmethod
    def turns(parameter: Tensor, without_embeddings: bool) -> bool:
        """Returns whether a weight is trained by Muon rather than Adam."""
        return parameter.ndim == 2 and not (without_embeddings and "embedding" in (getattr(parameter, "name", None) or ""))

    def update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not self.turns(parameter, group["without_embeddings"]):
            mean, root = _adam_change(grad, state, *group["betas"])
            parameter.sub_(mean / (root + group["epsilon"]), alpha=group["lr"] * group["adam_ratio"])
            return
        if not state:
            state["momentum"] = pyburn.zeros_like(parameter)
        state["momentum"].mul_(group["momentum"]).add_(grad)
        wanted = grad + group["momentum"] * state["momentum"] if group["nesterov"] else state["momentum"]
        change = _orthogonal(wanted, group["polynomial"], group["iterations"])
        scale = 1.0 if group["rms_rate"] is None else max(parameter.shape) ** 0.5 * group["rms_rate"]
        parameter.sub_(change, alpha=group["lr"] * scale)


def _orthogonal(matrix: Tensor, polynomial: tuple[float, float, float], iterations: int) -> Tensor:
    a, b, c = polynomial
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (x.square().sum().sqrt() + 1e-7)
    for _ in range(iterations):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


class OwnSteps(Steps):
    """Runs the `update_step(gradient, variable, learning_rate)` of a custom `Optimizer`."""

    def __init__(self, parameters: list[Tensor], owner: Any) -> None:
        super().__init__(parameters)
        self.owner = owner

    def update(self, parameter: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self.owner.update_step(grad, parameter, group["lr"])
