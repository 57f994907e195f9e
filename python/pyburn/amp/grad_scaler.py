"""GradScaler: scales losses before the backward pass, and unscales gradients before the step."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from .. import _core
from .._core import Tensor

_READY, _UNSCALED, _STEPPED = range(3)


class GradScaler:
    """Scales losses so that small gradients do not underflow in float16. It is not needed for bfloat16.

    Steps with infinite or NaN gradients are skipped, and the scale is reduced; after `growth_interval` successful steps it is increased.

    Args:
        device: Accepted for compatibility with PyTorch; has no effect.
        init_scale: The initial scale.
        growth_factor: The factor of an increase.
        backoff_factor: The factor of a reduction.
        growth_interval: The number of successful steps before an increase.
        enabled: Whether scaling is enabled; if False, all methods have no effect and step() calls the optimizer.

    Raises:
        AssertionError: growth_factor is not greater than 1, or backoff_factor is not less than 1.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> optimizer = pyburn.optim.SGD([p], lr=0.25)
    >>> scaler = pyburn.amp.GradScaler()
    >>> scaler.scale((p * 2).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> p.item(), scaler.get_scale()
    (0.5, 65536.0)
    """

    def __init__(
        self,
        device: str = "cpu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and growth_factor <= 1:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and backoff_factor >= 1:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._growth_tracker = 0
        self._start_round()

    def _start_round(self) -> None:
        self._stage: defaultdict[int, int] = defaultdict(int)  # by optimizer
        self._found_inf: dict[int, Any] = {}  # a tensor on the device until `step` reads it

    def scale(self, outputs: Any) -> Any:
        """Multiplies a loss, or losses, by the scale.

        Args:
            outputs: A tensor, or an iterable of tensors.

        Returns:
            The scaled tensor, or a list, tuple or iterator of them.

        Raises:
            ValueError: outputs is neither a tensor nor an iterable of tensors.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(output) for output in outputs)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer by the scale, for gradient clipping before `step`, which otherwise does it.

        Args:
            optimizer: The optimizer.

        Raises:
            RuntimeError: The gradients are already unscaled, or step() was already called.
        """
        if not self._enabled:
            return
        if self._stage[id(optimizer)] == _UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if self._stage[id(optimizer)] == _STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        active = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if active:
            self._found_inf[id(optimizer)] = _core._optim.unscale_gradients(active, self._scale)
        self._stage[id(optimizer)] = _UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls optimizer.step(*args, **kwargs), unless a gradient is infinite or NaN.

        Args:
            optimizer: The optimizer.
            *args: Arguments of its method step.
            **kwargs: Keyword arguments of its method step.

        Returns:
            The result of the step, or None if it was skipped.

        Raises:
            RuntimeError: A closure is given, or step() was already called since the last update().
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if self._stage[id(optimizer)] == _STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if self._stage[id(optimizer)] == _READY:
            self.unscale_(optimizer)
        if id(optimizer) not in self._found_inf:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        found = self._found_inf[id(optimizer)] = bool(self._found_inf[id(optimizer)])
        result = None if found else optimizer.step(*args, **kwargs)
        self._stage[id(optimizer)] = _STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Updates the scale after a step: reduces it after non-finite gradients, increases it after enough successful steps.

        Args:
            new_scale: A scale to set instead.

        Raises:
            AssertionError: No step was made since the last update.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found_inf:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._found_inf.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._start_round()

    def get_scale(self) -> float:
        """Returns the scale."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Returns the growth factor of the scale."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets the growth factor of the scale.

        Args:
            new_factor: The factor.
        """
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Returns the backoff factor of the scale."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets the backoff factor of the scale.

        Args:
            new_factor: The factor.
        """
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Returns the number of successful steps before the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets the number of successful steps before the scale grows.

        Args:
            new_interval: The number of steps.
        """
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Returns whether scaling is enabled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Returns the state as a dict; empty if scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the state returned by state_dict().

        Args:
            state_dict: The state.

        Raises:
            RuntimeError: The state is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._scale = float(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
