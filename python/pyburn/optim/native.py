"""Base class of the optimizers implemented in C++: one operation for all similar parameters of a group."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, overload

from .. import _core, _step_recording
from .._core import Tensor, float32, full
from ..autograd import enable_grad
from .optimizer import Closure, Optimizer, Params, T

# Options that PyTorch does not have: only present in groups that use them, so that groups look like PyTorch's.
_OWN = ("grad_clip", "cautious_weight_decay")


class GradientClipping(NamedTuple):
    """Clips each gradient separately within a step; `.grad` is not changed.

    Every optimizer accepts it as `grad_clip=`. In contrast, nn.utils.clip_grad_norm_ clips the total norm of all parameters.

    >>> import pyburn
    >>> p = pyburn.nn.Parameter(pyburn.zeros(2))
    >>> p.grad = pyburn.tensor([3.0, 4.0])
    >>> pyburn.optim.SGD([p], lr=1.0, grad_clip=pyburn.optim.GradientClipping.by_value(0.5)).step()
    >>> p.tolist()
    [-0.5, -0.5]
    """

    kind: str
    limit: float

    @classmethod
    def by_value(cls, limit: float) -> GradientClipping:
        """Clamps elements to [-limit, limit].

        Args:
            limit: The largest absolute value.

        Returns:
            The clipping, for the argument `grad_clip` of optimisers.
        """
        return cls("value", limit)

    @classmethod
    def by_norm(cls, limit: float) -> GradientClipping:
        """Limits the L2 norm of each gradient.

        Args:
            limit: The largest norm.

        Returns:
            The clipping, for the argument `grad_clip` of optimisers.
        """
        return cls("norm", limit)


def options(scope: dict[str, Any]) -> dict[str, Any]:
    """Returns the constructor arguments from its locals(), as defaults of the groups."""
    given = {key: value for key, value in scope.items() if key not in ("self", "params", "__class__")}
    for key in _OWN:
        if not given.get(key, True):
            del given[key]
    return given


class ParameterState(dict[str, Any]):
    """The state of one parameter.

    The core uses plain numbers for counters, and PyTorch tensors: a number is converted when it is accessed, so that steps create no
    tensors. The next step replaces it by a number again.
    """

    _counters: tuple[str, ...]

    def __init__(self, values: dict[str, Any], counters: tuple[str, ...]) -> None:
        super().__init__(values)
        self._counters = counters

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if key in self._counters and not isinstance(value, Tensor):
            self[key] = value = full((), float(value), dtype=float32)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def values(self) -> Any:
        self._all_as_tensors()
        return super().values()

    def items(self) -> Any:
        self._all_as_tensors()
        return super().items()

    def _all_as_tensors(self) -> None:
        for key in self._counters:
            self.get(key)

    def __reduce__(self) -> Any:
        return ParameterState, (dict(self.items()), self._counters)


class _HostPart:
    """The host's part of the step of a group: it counts the step, and computes the numbers of the operations from the options."""

    def __init__(self, optimizer: NativeOptimizer, group: dict[str, Any], active: list[Tensor]) -> None:
        self.optimizer, self.group, self.active = optimizer, group, active
        self._seen = self._look()

    def _look(self) -> tuple[Any, ...]:
        optimizer, group = self.optimizer, self.group
        return id(optimizer.state), id(group["params"]), len(group["params"]), id(group.get("grad_clip")), id(optimizer.found_inf)

    def fits(self) -> bool:
        return self._look() == self._seen

    def operations(self) -> list[Any]:
        optimizer = self.optimizer
        states = [optimizer._state_of(p) for p in self.active]
        operations: list[Any] = optimizer._functions.advance(optimizer._numbers(self.group), self.active, states)
        return operations


class NativeOptimizer(Optimizer):
    """Base class of the optimizers implemented in C++. Subclasses define the constructor and these names."""

    _core_name: ClassVar[str]
    # Options with several numbers, and their names in the core.
    _parts: ClassVar[dict[str, tuple[str, ...]]] = {"betas": ("beta1", "beta2")}
    # State that is a number; it is saved as a tensor, as in PyTorch.
    _counters: ClassVar[tuple[str, ...]] = ("step",)
    # PyTorch's protocol for steps that the device may skip: if the one-element tensor found_inf is not 0, the step has no effect. The flag
    # has PyTorch's name and tells that the step supports it.
    _step_supports_amp_scaling = True
    found_inf: Tensor | None = None

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self._check_group({"params": [], **defaults})  # checks options before parameters
        super().__init__(params, defaults)

    @property
    def _functions(self) -> Any:
        return getattr(_core._optim, self._core_name)

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        """Returns the options of a group with the names of the core."""
        numbers = {key: value for key, value in group.items() if value is not None and key not in self._parts}
        for key, names in self._parts.items():
            if key not in group:
                continue
            numbers.update({name: value for name, value in zip(names, self._values_of(group, key)) if value is not None})
        return numbers

    def _values_of(self, group: dict[str, Any], key: str) -> tuple[Any, ...]:
        """Returns the numbers of an option that has several. The count is checked first: rows of a huge tensor fill the memory."""
        values, names = group[key], self._parts[key]
        if len(values) != len(names):
            raise ValueError(f"expected {len(names)} values for {key}: got {values}")
        return tuple(values)

    def _check_group(self, group: dict[str, Any]) -> None:
        if isinstance(group["lr"], Tensor) and group["lr"].numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        numbers = self._numbers(group)
        try:
            self._functions.check(numbers)
        except TypeError as error:
            wrong = next((f"{name} must be a number: got {value!r}" for name, value in numbers.items() if isinstance(value, str)), error)
            raise TypeError(f"[{type(self).__name__}] {wrong}") from None
        _core._optim.check_clipping(group.get("grad_clip"))

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Closure[T]) -> T: ...
    def step(self, closure: Closure[T] | None = None) -> T | None:
        """Performs an optimization step.

        Args:
            closure: Recomputes the loss; called first, with gradients enabled.

        Returns:
            The loss of the closure, or None.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        recording = _step_recording.current()
        for group in self.param_groups:
            active = [p for p in group["params"] if p.grad is not None]
            if not active:
                continue
            if group.get("fused") and any(p.is_meta or not p.is_floating_point() for p in active):
                raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices")
            states = [self._state_of(p) for p in active]
            self._functions.step(self._numbers(group), active, states, group.get("grad_clip"), self.found_inf)
            for parameter, state in zip(active, states):
                if state:
                    self.state[parameter] = state
            if recording is not None:
                self._add_to(recording, group, active)
        return loss

    def _add_to(self, recording: Any, group: dict[str, Any], active: list[Tensor]) -> None:
        if not hasattr(self._functions, "advance"):
            recording.refuse(f"the numbers of {type(self).__name__} depend on values")
        elif group.get("differentiable"):
            recording.refuse(f"{type(self).__name__} is differentiable")
        else:
            recording.add(_HostPart(self, group, active))

    def _state_of(self, parameter: Tensor) -> ParameterState:
        state = self.state.get(parameter, {})
        return state if isinstance(state, ParameterState) else ParameterState(state, self._counters)

    def _saved(self, values: dict[str, Any]) -> dict[str, Any]:
        return dict(ParameterState(values, self._counters).items())

    def _loaded(self, values: dict[str, Any], parameter: Tensor) -> dict[str, Any]:
        loaded = super()._loaded({key: value for key, value in values.items() if value is not None}, parameter)
        for key in self._counters:
            if key in values:
                loaded[key] = float(values[key])
        return ParameterState(loaded, self._counters)
