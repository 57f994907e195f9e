"""Variable: numbers that a metric gathers, with Keras's methods to change them."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor


class Variable:
    """A tensor that can be given another value. Nothing is read from the device before it is asked for."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value: Tensor = pyburn.as_tensor(value).detach()
        self.name = name
        self._start = self.value

    def assign(self, value: Any) -> Variable:
        """Takes a value of the same shape, or one number for all elements."""
        value = value.value if isinstance(value, Variable) else value
        given = pyburn.as_tensor(value).detach().to(dtype=self.value.dtype)
        self.value = given.expand(self.value.shape) if given.ndim <= self.value.ndim else given.reshape(self.value.shape)
        return self

    def assign_add(self, value: Any) -> Variable:
        return self.assign(self._here(value) + value)

    def assign_sub(self, value: Any) -> Variable:
        return self.assign(self._here(value) - value)

    def _here(self, value: Any) -> Tensor:
        """The value where the other one is."""
        return self.value.to(device=value.device) if isinstance(value, Tensor) else self.value

    def reset(self) -> None:
        """The value it was made with."""
        self.value = self._start

    def numpy(self) -> Any:
        return self.value.to("cpu").numpy()

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy().__array__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "value"), name)  # shape, dtype, sum, ...

    def __add__(self, other: Any) -> Tensor:
        return self.value + other

    def __sub__(self, other: Any) -> Tensor:
        return self.value - other

    def __mul__(self, other: Any) -> Tensor:
        return self.value * other

    def __truediv__(self, other: Any) -> Tensor:
        return self.value / (other.value if isinstance(other, Variable) else other)

    def __repr__(self) -> str:
        return f"<Variable {self.name or ''} {self.value!r}>"
