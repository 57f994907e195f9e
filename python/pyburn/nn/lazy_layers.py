"""Lazy layers, which infer the number of input features or channels from the first call."""

from __future__ import annotations

from typing import Any

from .._core import _nn
from .lazy import LazyModuleMixin
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy
from .signature import CallSignature

__all__ = ["LazyLinear"]


class _Signature(CallSignature):
    """Signature of the layer that a lazy one becomes, without the first argument."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is not None or owner.cls_to_become is None:
            return super().__get__(instance, owner)
        import inspect

        return inspect.Signature(list(inspect.signature(owner.cls_to_become).parameters.values())[1:])


class _Lazy(LazyModuleMixin):
    """Base class of lazy layers: the first constructor argument `size_name` is inferred from the input."""

    __slots__ = ()
    __signature__ = _Signature()
    size_name: str

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)
        for name, _, tensor, persistent in self._pb_entries():
            if isinstance(tensor, Parameter):
                setattr(self, name, UninitializedParameter(device=tensor.device, dtype=tensor.dtype))
            elif tensor is not None and tensor.is_floating_point():
                setattr(self, name, UninitializedBuffer(device=tensor.device, dtype=tensor.dtype, persistent=persistent))

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:
        """Materializes the parameters from the input of the first call."""
        size, fresh = input.shape[self._axis(input)], self.has_uninitialized_params()
        setattr(self, self.size_name, size)
        for name, shape in self._shapes(size).items():
            tensor = getattr(self, name)
            if is_lazy(tensor):
                tensor.materialize(shape)
        if fresh:
            self.reset_parameters()

    def _axis(self, input: Any) -> int:
        return -1

    def _shapes(self: Any, size: int) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, size), "bias": (self.out_features,)}


class _LazyConv(_Lazy):
    __slots__ = ()
    size_name = "in_channels"

    def _axis(self: Any, input: Any) -> int:
        axes = len(self.kernel_size)
        if input.dim() not in (axes + 1, axes + 2):
            raise RuntimeError(f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input, but got input of size: {input.shape}")
        return -1 - axes

    def _shapes(self: Any, size: int) -> dict[str, tuple[int, ...]]:
        if size % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        return {"weight": self._weight_shape(size), "bias": (self.out_channels,)}

    def _weight_shape(self: Any, size: int) -> tuple[int, ...]:
        return (self.out_channels, size // self.groups, *self.kernel_size)


class _LazyConvTranspose(_LazyConv):
    __slots__ = ()

    def _weight_shape(self: Any, size: int) -> tuple[int, ...]:
        return (size, self.out_channels // self.groups, *self.kernel_size)


class _LazyNorm(_Lazy):
    __slots__ = ()
    size_name = "num_features"

    def _axis(self: Any, input: Any) -> int:
        return 1

    def _shapes(self: Any, size: int) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (size,))


class _LazyInstanceNorm(_LazyNorm):
    __slots__ = ()
    __signature__ = None  # its own signature, with the defaults of BatchNorm
    axes: int  # spatial dimensions; unbatched input has one more

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _axis(self: Any, input: Any) -> int:
        return 0 if input.dim() == self.axes + 1 else 1


class LazyLinear(_Lazy, _nn.Linear):
    """Linear layer that infers in_features from the first call.

    >>> layer = pyburn.nn.LazyLinear(2)
    >>> layer(pyburn.ones(4, 3)).shape
    pyburn.Size([4, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    size_name = "in_features"
    cls_to_become = _nn.Linear


def _family(mixin: type, name: str, learned: str) -> None:
    """Creates the 1d, 2d and 3d classes of a lazy layer in this module."""
    for axes in (1, 2, 3):
        base = getattr(_nn, f"{name}{axes}d")
        doc = f"{name}{axes}d that learns {learned} from the first call."
        members = {"axes": axes, "cls_to_become": base, "__doc__": doc, "__module__": __name__}
        globals()[f"Lazy{name}{axes}d"] = type(f"Lazy{name}{axes}d", (mixin, base), members)
        __all__.extend([f"Lazy{name}{axes}d"])


_family(_LazyConv, "Conv", "in_channels")
_family(_LazyConvTranspose, "ConvTranspose", "in_channels")
_family(_LazyNorm, "BatchNorm", "num_features")
_family(_LazyInstanceNorm, "InstanceNorm", "num_features")
