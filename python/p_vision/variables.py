"""Weights and other tensors with the methods of Keras variables, and the state variables of metrics."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import Parameter

_Bound: Any = object


class Assignable(_Bound):
    """Mixin that adds the methods of Keras variables to tensors."""

    __slots__ = ()

    def assign(self, value: Any) -> Any:
        """Copies a value of the same shape into the tensor.

        Raises:
            ShapeError: The value has another shape.
        """
        given = pyburn.as_tensor(value)
        if tuple(given.shape) != tuple(self.shape):
            raise pyburn.ShapeError(f"[assign] the variable has the shape {tuple(self.shape)}: got {tuple(given.shape)}")
        with pyburn.no_grad():
            return self.copy_(given.to(device=self.device, dtype=self.dtype))

    def assign_add(self, value: Any) -> Any:
        with pyburn.no_grad():
            return self.add_(self._beside(value))

    def assign_sub(self, value: Any) -> Any:
        with pyburn.no_grad():
            return self.sub_(self._beside(value))

    def _beside(self, value: Any) -> Any:
        return pyburn.as_tensor(value).to(device=self.device, dtype=self.dtype) if hasattr(value, "__array__") else value

    @property
    def name(self) -> str:
        """The name that the layer gave to the weight."""
        return self.__dict__.get("_name", "variable")

    @name.setter
    def name(self, value: str) -> None:
        self.__dict__["_name"] = value

    @property
    def path(self) -> str:
        """The name with the name of the layer in front."""
        return self.__dict__.get("_path", self.name)

    @path.setter
    def path(self, value: str) -> None:
        self.__dict__["_path"] = value

    @property
    def value(self) -> Any:
        """The tensor itself; in Keras it is an attribute of the variable."""
        return self

    @property
    def trainable(self) -> bool:
        return bool(self.requires_grad)

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.requires_grad_(bool(value))

    def numpy(self) -> Any:
        """Returns a copy of the values as a NumPy array, from any device."""
        return self.detach().to("cpu").numpy().copy()


class Weight(Assignable, Parameter):  # type: ignore[misc]
    """A weight of a layer."""


class State(Assignable, Tensor):  # type: ignore[misc]
    """A tensor of a layer that is not trained, such as a moving average or a count. Modules register it as a buffer."""

    def __new__(cls, values: Tensor) -> State:
        made: Any = values.detach()
        made.__class__ = cls
        made.persistent, made._is_buffer = True, True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        made: Any = memo.setdefault(id(self), State(self.detach().clone()))
        made.__dict__.update(self.__dict__)
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return State, (self.detach(),), self.__dict__ or None


class Shown(Assignable, Tensor):  # type: ignore[misc]
    """A placeholder for a weight while a layer runs only to compute shapes."""

    def __new__(cls, values: Tensor) -> Shown:
        made: Any = values.detach()
        made.__class__ = cls
        return made


def weight(values: Tensor, name: str | None = None, trainable: bool = True) -> Tensor:
    made: Any = Weight(values) if trainable else State(values)
    if name is not None:
        made.name = name
    return made


def state(values: Tensor, name: str | None = None) -> Tensor:
    return weight(values, name, trainable=False)


def Variable(
    initializer: Any, shape: Any = None, dtype: Any = None, trainable: bool = True, autocast: bool = True, name: str | None = None
) -> Any:
    """Creates a tensor with `assign` methods; as an attribute of a layer it is one of its weights.

    Args:
        initializer: The initial value: a number, an array, or an initializer (name or object) that is called with the shape.
        shape: The shape; required with an initializer.
        dtype: The dtype; by default float64 values become float32.
        trainable: Whether training updates it; False if the dtype is not floating point.
        autocast: Accepted for compatibility; has no effect.
        name: The name.

    Returns:
        The tensor, with assign, assign_add and assign_sub.

    Raises:
        ValueError: An initializer is given without a shape.

    >>> step = p_vision.Variable(0.0, trainable=False)
    >>> step.assign_add(2.0).item()
    2.0
    """
    from . import initializers
    from .conversion import dtype_of

    if isinstance(initializer, str) or (callable(initializer) and not isinstance(initializer, Tensor)):
        if shape is None:
            raise ValueError("[Variable] an initializer needs a shape")
        values = initializers.get(initializer)([shape] if isinstance(shape, int) else list(shape), dtype_of(dtype))
    else:
        values = pyburn.as_tensor(initializer)
        if dtype is not None or values.dtype == pyburn.float64:
            values = values.to(dtype=dtype_of(dtype) or pyburn.float32)
        values = values.detach().clone()
    return weight(values, name, trainable and values.is_floating_point())


class Gathered:
    """The state variable of a metric. Values stay on the device until they are read."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value: Tensor = pyburn.as_tensor(value).detach()
        self.name = name
        self._start = self.value

    def assign(self, value: Any) -> Gathered:
        """Sets a value of the same shape, or one that is expanded to the shape."""
        value = value.value if isinstance(value, Gathered) else value
        given = pyburn.as_tensor(value).detach().to(dtype=self.value.dtype)
        self.value = given.expand(self.value.shape) if given.ndim <= self.value.ndim else given.reshape(self.value.shape)
        return self

    def assign_add(self, value: Any) -> Gathered:
        return self.assign(self._here(value) + value)

    def assign_sub(self, value: Any) -> Gathered:
        return self.assign(self._here(value) - value)

    def _here(self, value: Any) -> Tensor:
        """Returns the value on the device of the other operand."""
        return self.value.to(device=value.device) if isinstance(value, Tensor) else self.value

    def reset(self) -> None:
        """Restores the initial value."""
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
        if name.startswith("__"):  # such as __deepcopy__: the variable is copied, not only its value
            raise AttributeError(name)
        return getattr(object.__getattribute__(self, "value"), name)  # shape, dtype, sum and so on

    def __add__(self, other: Any) -> Tensor:
        return self.value + other

    def __sub__(self, other: Any) -> Tensor:
        return self.value - other

    def __mul__(self, other: Any) -> Tensor:
        return self.value * other

    def __truediv__(self, other: Any) -> Tensor:
        return self.value / (other.value if isinstance(other, Gathered) else other)

    def __repr__(self) -> str:
        return f"<Variable {self.name or ''} {self.value!r}>"
