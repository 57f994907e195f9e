"""Which functions return their argument and which a view of it, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pyburn
from pyburn import Tensor

# Of a tensor whose shape has no axis of extent 1.
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "squeeze()": lambda x: x.squeeze(),
    "squeeze(0)": lambda x: x.squeeze(0),
    "squeeze((0,))": lambda x: x.squeeze((0,)),
    "squeeze(())": lambda x: x.squeeze(()),
    "view": lambda x: x.view(x.shape),
    "view_as": lambda x: x.view_as(x),
    "reshape": lambda x: x.reshape(x.shape),
    "expand": lambda x: x.expand(x.shape),
    "expand_as": lambda x: x.expand_as(x),
    "broadcast_to": lambda x: pyburn.broadcast_to(x, x.shape),
    "transpose": lambda x: x.transpose(0, 0),
    "permute": lambda x: x.permute(*range(x.dim())),
    "movedim": lambda x: x.movedim(0, 0),
    "slice": lambda x: x[:],
    "ellipsis": lambda x: x[...],
    "narrow": lambda x: x.narrow(0, 0, len(x)),
    "unflatten": lambda x: x.unflatten(0, (len(x),)),
    "split": lambda x: x.split(len(x))[0],
    "chunk": lambda x: x.chunk(1)[0],
    "as_strided": lambda x: x.as_strided(x.shape, x.stride()),
}
THE_SAME: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x.contiguous(),
    "to(dtype)": lambda x: x.to(x.dtype),
    "to(device)": lambda x: x.to("cpu"),
    "float": lambda x: x.float(),
    "cpu": lambda x: x.cpu(),
    "type_as": lambda x: x.type_as(x),
    "flatten(0, 0)": lambda x: x.flatten(0, 0),
    "atleast_1d": lambda x: pyburn.atleast_1d(x),
    "broadcast_tensors": lambda x: pyburn.broadcast_tensors(x, x)[0],
    "positive": lambda x: x.positive(),
    "as_tensor": lambda x: pyburn.as_tensor(x),
    "sum_to_size": lambda x: x.sum_to_size(x.shape),
    "dropout": lambda x: pyburn.nn.functional.dropout(x, 0.5, False),
}
SHAPES = [(6,), (2, 3), (0, 3)]


def tensor(shape: tuple[int, ...], requires_grad: bool) -> Tensor:
    x = pyburn.ones(shape)
    return x.requires_grad_().clone() if requires_grad else x


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_a_new_tensor(name: str, requires_grad: bool) -> None:
    for shape in SHAPES:
        x = tensor(shape, requires_grad)
        y = VIEWS[name](x)
        assert y is not x and y.shape == x.shape and y._is_view() and y._base is x and y.data_ptr() == x.data_ptr()
        y.add_(1)
        assert x._version == 1 and (not requires_grad or x.grad_fn.name() == "CopySlices")


@pytest.mark.parametrize("name", THE_SAME)
def test_a_conversion_that_changes_nothing_returns_its_argument(name: str) -> None:
    for shape in SHAPES:
        x = tensor(shape, True)
        assert THE_SAME[name](x) is x and not x._is_view()


def test_transposing_a_vector_gives_a_view() -> None:
    for x in (pyburn.ones(3), pyburn.tensor(1.0)):
        assert x.t() is not x and x.t()._base is x
    assert pyburn.ones(3).ravel()._is_view() and pyburn.ones(3).T._is_view()


def test_scalars_have_no_axes_to_move() -> None:
    x = pyburn.tensor(2.0)
    assert x.squeeze()._base is x and x.movedim(0, -1)._base is x and x.moveaxis(0, 0).shape == ()
    assert x.sum_to_size(()) is not x and not x.sum_to_size(())._is_view()
    with pytest.raises(IndexError):
        x.movedim(1, 0)
