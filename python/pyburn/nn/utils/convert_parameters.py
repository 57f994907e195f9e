"""Conversion of parameters to a vector and back."""

from __future__ import annotations

from collections.abc import Iterable

from ..._core import Tensor, _nn


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenates the flattened parameters to a vector; differentiable.

    Args:
        parameters: The parameters.

    Returns:
        A 1-d tensor.

    >>> pyburn.nn.utils.parameters_to_vector(pyburn.nn.Linear(2, 3).parameters()).shape
    pyburn.Size([9])
    """
    return _nn._to_vector(list(parameters))


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters views of slices of a vector.

    Args:
        vec: The vector.
        parameters: The parameters.

    Raises:
        TypeError: vec is not a tensor.

    >>> layer = pyburn.nn.Linear(2, 3)
    >>> pyburn.nn.utils.vector_to_parameters(pyburn.ones(9), layer.parameters())
    >>> layer.bias
    Parameter containing:
    tensor([1., 1., 1.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, but got: {type(vec)}")
    _nn._from_vector(vec, list(parameters))
