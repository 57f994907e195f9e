"""Predefined parametrizations: weight norm, spectral norm, orthogonal weights."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._core import Tensor, _nn
from ..._core._nn import Module
from .. import functional
from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_except(v: Tensor, dim: int) -> Tensor:
    """Returns the norm over all dimensions except dim; over all of them for -1."""
    return _nn._norm_except(v, dim)


def _named_tensor(module: Any, name: str) -> Tensor:
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _nn._with_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


class _OldNames:
    """A load_state_dict hook that accepts the names of `nn.utils.weight_norm`; a class, so that it can be pickled."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any, state_dict: Any, prefix: str, *_: Any) -> None:
        for i, old in enumerate((f"{prefix}{self.name}_g", f"{prefix}{self.name}_v")):
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{self.name}.original{i}"] = state_dict.pop(old)


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Parametrizes a weight as magnitude times direction, which are trained separately.

    Args:
        module: The module.
        name: The name of the weight.
        dim: The dimension with separate magnitudes; None for a single one.

    Returns:
        The module.

    >>> layer = pyburn.nn.utils.parametrizations.weight_norm(pyburn.nn.Linear(4, 3))
    >>> layer.parametrizations.weight.original0.shape
    pyburn.Size([3, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module.register_load_state_dict_pre_hook(_OldNames(name))
    return module


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight.detach())
            rows, columns = matrix.shape
            for name, size in (("_u", rows), ("_v", columns)):
                start = _core.randn(size, dtype=matrix.dtype, device=matrix.device)
                self.register_buffer(name, functional.normalize(start, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _power_method(self, matrix: Tensor, iterations: int) -> None:
        _nn._power_iterations(matrix, self._u, self._v, iterations, self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        # Cloned: the power method modifies the buffers in place, and the backward pass needs the current values.
        return weight / _core.dot(self._u.clone(), _core.mv(matrix, self._v.clone()))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """Parametrizes a weight as divided by its spectral norm, which is estimated by power iteration during training.

    Args:
        module: The module.
        name: The name of the weight.
        n_power_iterations: The number of power iterations per forward pass.
        eps: Added for numerical stability.
        dim: The dimension of the output features; by default 1 for transposed convolutions, else 0.

    Returns:
        The module.

    Raises:
        ValueError: There is no such tensor, or n_power_iterations is not positive.

    >>> layer = pyburn.nn.utils.parametrizations.spectral_norm(pyburn.nn.Linear(4, 3))
    >>> layer.weight.shape
    pyburn.Size([3, 4])
    """
    weight = _named_tensor(module, name)
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)
        self.use_trivialization = use_trivialization

    def forward(self, X: Tensor) -> Tensor:
        return _nn._orthogonal_matrix(X, self.orthogonal_map, self.base if self.use_trivialization else None)

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        start, base = _nn._orthogonal_start(Q, self.orthogonal_map, self.use_trivialization)
        if self.use_trivialization:
            self.base = base
        return start


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Any:
    """Parametrizes a weight as a matrix with orthonormal columns, or rows if there are fewer of them.

    Args:
        module: The module.
        name: The name of the weight.
        orthogonal_map: "matrix_exp" (default for square weights), "cayley" or "householder" (default for others).
        use_trivialization: Whether to use the dynamic trivialization framework.

    Returns:
        The module.

    Raises:
        ValueError: The weight has fewer than two dimensions, or orthogonal_map is unknown.

    >>> layer = pyburn.nn.utils.parametrizations.orthogonal(pyburn.nn.Linear(4, 2))
    >>> pyburn.allclose(layer.weight @ layer.weight.T, pyburn.eye(2), atol=1e-5)
    True
    """
    weight = _named_tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)
