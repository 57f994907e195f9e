"""Optimisers whose step is computed by the core: one operation for all parameters of a group that are alike."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, overload

from .. import _core
from .._core import Tensor, float32, full
from ..autograd import enable_grad
from .optimizer import Closure, Optimizer, Params, T

# Options of pyburn's own: a group has them only where they are used, so that groups look as PyTorch's.
_OWN = ("grad_clip", "cautious_weight_decay")


class GradientClipping(NamedTuple):
    """Keeps gradients small on their way into a step, each parameter's for itself; `.grad` is not changed.

    Every optimiser takes it as `grad_clip=`. nn.utils.clip_grad_norm_ looks at all parameters together instead.

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
        """Elements lie between -limit and limit."""
        return cls("value", limit)

    @classmethod
    def by_norm(cls, limit: float) -> GradientClipping:
        """The Euclidean norm of each gradient is at most limit."""
        return cls("norm", limit)


def options(scope: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor, from its locals(): they are the defaults of its groups."""
    given = {key: value for key, value in scope.items() if key not in ("self", "params", "__class__")}
    for key in _OWN:
        if not given.get(key, True):
            del given[key]
    return given


class ParameterState(dict[str, Any]):
    """What is remembered of one parameter. The core counts in numbers, and PyTorch keeps counts in tensors: a number becomes one when
    it is looked at, so that a step makes none. The next step puts a number in its place."""

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


class NativeOptimizer(Optimizer):
    """What the optimisers of the core have in common. A subclass is its constructor and these names."""

    _core_name: ClassVar[str]
    # Options that are several numbers, and what the core calls each.
    _parts: ClassVar[dict[str, tuple[str, ...]]] = {"betas": ("beta1", "beta2")}
    # State that is a number; PyTorch keeps it in tensors, which is how it is saved.
    _counters: ClassVar[tuple[str, ...]] = ("step",)
    # PyTorch's protocol for steps that a device may leave out: a tensor with one element; where it is not 0, the step changes no tensor.
    # Whether the step looks at it is said by the flag, under PyTorch's name.
    _step_supports_amp_scaling = True
    found_inf: Tensor | None = None

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self._check_group({"params": [], **defaults})  # options are looked at before parameters
        super().__init__(params, defaults)

    @property
    def _functions(self) -> Any:
        return getattr(_core._optim, self._core_name)

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        """The options of a group as the core names them."""
        numbers = {key: value for key, value in group.items() if value is not None and key not in self._parts}
        for key, names in self._parts.items():
            values = tuple(group[key])
            if len(values) != len(names):
                raise ValueError(f"expected {len(names)} values for {key}: got {values}")
            numbers.update({name: value for name, value in zip(names, values) if value is not None})
        return numbers

    def _check_group(self, group: dict[str, Any]) -> None:
        if isinstance(group["lr"], Tensor) and group["lr"].numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        self._functions.check(self._numbers(group))
        _core._optim.check_clipping(group.get("grad_clip"))

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Closure[T]) -> T: ...
    def step(self, closure: Closure[T] | None = None) -> T | None:
        """Updates the parameters; `closure` computes the loss again and is called first."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
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
        return loss

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
