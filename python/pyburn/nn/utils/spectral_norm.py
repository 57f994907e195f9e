"""The older spectral normalization: a hook that divides the weight by its spectral norm before each call."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._core import Tensor
from ...autograd import no_grad
from .. import functional
from ..hooks import hooks_of, pre_hook_of
from ..parameter import Parameter, is_lazy


class SpectralNorm:
    """The hook. `name` + "_orig" is the parameter, "_u" and "_v" are the singular vectors."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def as_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        weight, u, v = (getattr(module, self.name + part) for part in ("_orig", "_u", "_v"))
        matrix = self.as_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(functional.normalize(_core.mv(matrix.mT, u), dim=0, eps=self.eps))
                    u.copy_(functional.normalize(_core.mv(matrix, v), dim=0, eps=self.eps))
        # Cloned: the next call modifies the buffers in place, and the backward pass needs the current values.
        return weight / _core.dot(u.clone(), _core.mv(matrix, v.clone()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """Divides a weight by its spectral norm before each call; parametrizations.spectral_norm is the newer interface.

    Args:
        module: The module.
        name: The name of the weight.
        n_power_iterations: The number of power iterations per call.
        eps: A small number that avoids division by zero.
        dim: The dimension that becomes the rows of the matrix; by default 0, and 1 for transposed convolutions.

    Returns:
        The module.

    Raises:
        RuntimeError: The weight has a spectral norm already.
        ValueError: n_power_iterations is not positive, the weight is None, or the parameters have no shape yet.

    >>> layer = pyburn.nn.utils.spectral_norm(pyburn.nn.Linear(4, 3))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    if pre_hook_of(module, SpectralNorm, name):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    weight = getattr(module, name)
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if is_lazy(weight):
        raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Call it before, to give them shapes.")
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    sizes = hook.as_matrix(weight.detach()).shape
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.detach())
    for part, size in zip(("_u", "_v"), sizes):
        start = _core.randn(size, dtype=weight.dtype, device=weight.device)
        module.register_buffer(name + part, functional.normalize(start, dim=0, eps=eps))
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Makes the weight a plain parameter again, with its current value.

    Args:
        module: The module.
        name: The name of the weight.

    Returns:
        The module.

    Raises:
        ValueError: The weight has no spectral norm.

    >>> layer = pyburn.nn.utils.spectral_norm(pyburn.nn.Linear(4, 3))
    >>> list(pyburn.nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    found = pre_hook_of(module, SpectralNorm, name)
    if found is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    key, hook = found
    with no_grad():
        weight = hook.compute_weight(module, False)
    for old in ("", "_u", "_v", "_orig"):
        delattr(module, name + old)
    module.register_parameter(name, Parameter(weight.detach()))
    del hooks_of(module).forward_pre[key]
    return module
