"""torch.library.custom_op under pyburn.compat: an operation of pyburn, as PyTorch's documentation writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import Tensor, inference


def numpy_sin(x: Tensor) -> Tensor:
    """The sine."""
    return pyburn.from_numpy(np.sin(x.numpy()))


def save_input(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def backward(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    return grad * x.cos()


def test_register_autograd_gives_a_gradient(torch: Any) -> None:
    sin = torch.library.custom_op("mine::sin", numpy_sin, mutates_args=())
    x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Trying to backward through mine::sin.default but no autograd formula was registered"):
        sin(x).sum().backward()
    sin.register_autograd(backward, setup_context=save_input)
    assert torch.autograd.gradcheck(sin, (x,)) and torch.autograd.gradcheck(torch.ops.mine.sin, (x,))
    assert torch.autograd.gradgradcheck(torch.ops.mine.sin.default, (x,))
    assert not torch.ops.mine.sin(x.detach()).requires_grad


def test_register_fake_lets_it_be_captured(torch: Any) -> None:
    sin = torch.library.custom_op("mine::sin_fake", mutates_args=())(numpy_sin)
    with pytest.raises(pyburn.CaptureError):
        inference.capture(sin, torch.ones(2))

    @torch.library.register_fake("mine::sin_fake")
    def _(x: Any) -> Any:
        return torch.empty_like(x)

    graph = inference.capture(sin, torch.ones(2))
    assert graph.operations == ["mine::sin_fake"]
    assert sin(torch.ones(2, device="meta")).shape == (2,)


def test_arguments_of_many_types(torch: Any) -> None:
    got: dict[str, Any] = {}

    def affine(
        x: Tensor, others: Sequence[Tensor], bias: Tensor | None, n: int, scale: float = 2.0, *, dims: Sequence[int] = (1,),
        mode: str = "a", number: int | float | bool = 1
    ) -> Tensor:  # fmt: skip
        got.update(n=n, scale=scale, dims=dims, mode=mode, number=number, bias=bias)
        return x * scale + sum(others)

    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        seen.extend([inputs[3:], keyword_only_inputs, output.shape])
        ctx.count, ctx.scale = len(inputs[1]), inputs[4]

    def gradient(ctx: Any, grad: Any) -> Any:
        assert ctx.needs_input_grad == (True, [True, False], False, False, False)
        return grad * ctx.scale, [grad] * ctx.count, None, None, None

    op = torch.library.custom_op("mine::affine", affine, mutates_args=())
    torch.library.register_autograd("mine::affine", gradient, setup_context=setup)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    op(x, [y, torch.ones(2)], None, 3, mode="b").sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [1, 1]
    assert got == {"n": 3, "scale": 2.0, "dims": (1,), "mode": "b", "number": 1, "bias": None}
    assert seen == [(3, 2.0), {"dims": (1,), "mode": "b", "number": 1}, (2,)]
    with pytest.raises(TypeError, match="argument 'n' must be an int"):
        op(x, [y], None, "3")


def test_several_results_and_a_written_schema(torch: Any) -> None:
    @torch.library.custom_op("mine::split", mutates_args=(), schema="(Tensor x, SymInt n) -> (Tensor, Tensor)")
    def split(x, n):
        return x[:n].clone(), x[n:].clone()

    split.register_autograd(lambda ctx, a, b: (torch.cat([a, b]), None))
    x = torch.arange(3.0, requires_grad=True)
    first, second = split(x, 1)
    (first.sum() + 2 * second.sum()).backward()
    assert x.grad.tolist() == [1, 2, 2]


def test_kernels_by_type_of_device(torch: Any) -> None:
    used: list[str] = []

    @torch.library.custom_op("mine::where_am_i", mutates_args=(), device_types="cpu")
    def where_am_i(x: Tensor) -> Tensor:
        used.append(f"cpu {x.device.type}")
        return x + 1

    @where_am_i.register_kernel("numpy")
    def _(x: Any) -> Any:
        used.append(f"numpy {x.device.type}")
        return x + 1

    where_am_i(torch.ones(1)), where_am_i(torch.ones(1, device="numpy"))
    assert used == ["cpu cpu", "numpy numpy"]


def test_an_output_that_is_written_later_is_no_error_unless_the_gradient_reads_it(torch: Any) -> None:
    op = torch.library.custom_op("mine::double", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, grad: grad * 2, setup_context=lambda ctx, inputs, output: None)
    x = torch.ones(2, requires_grad=True)
    y = op(x)
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    op.register_autograd(
        lambda ctx, grad: grad * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output)
    )
    y = op(x)
    y.add_(1)
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_functions_that_write_have_no_gradient_of_their_own(torch: Any) -> None:
    @torch.library.custom_op("mine::write", mutates_args=("x",))
    def write(x: Tensor) -> None:
        x.add_(1)

    x = torch.zeros(2)
    write(x)
    assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Cannot register autograd formula"):
        write.register_autograd(backward)


def test_infer_schema(torch: Any) -> None:
    assert torch.library.infer_schema(numpy_sin, mutates_args=()) == "(Tensor x) -> Tensor"


def test_define_and_impl(torch: Any) -> None:
    torch.library.define("mine::cube", "(Tensor x, float scale=1.0) -> Tensor")

    @torch.library.impl("mine::cube", "cpu")
    def _(x: Any, scale: float) -> Any:
        return x**3 * scale

    @torch.library.impl("mine::cube", "Meta")
    def _(x: Any, scale: float) -> Any:
        return torch.empty_like(x)

    torch.library.register_autograd(
        "mine::cube", lambda ctx, g: (3 * g * ctx.saved_tensors[0] ** 2 * ctx.scale, None), setup_context=_keep_scale
    )
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: torch.ops.mine.cube(t, scale=2.0), (x,))
    library = torch.library.Library("mine", "FRAGMENT")
    library.define("fourth(Tensor x) -> Tensor")
    library.impl("fourth", lambda x: x**4, "CompositeImplicitAutograd")
    assert torch.autograd.gradcheck(torch.ops.mine.fourth, (x,))
    library.impl("aten::add.Tensor", lambda x: x, "CUDA")  # a device that does not exist
    with pytest.raises(NotImplementedError, match="aten::add.Tensor"):
        library.impl("aten::add.Tensor", lambda x: x, "CPU")
    with pytest.raises(NotImplementedError, match="use torch.library.register_autograd"):
        library.impl("fourth", lambda x: x, "AutogradCPU")
    with pytest.raises(NotImplementedError, match="no dispatch keys"):
        library.fallback(lambda x: x)


def test_what_is_registered_before_the_kernel_is_kept(torch: Any) -> None:
    torch.library.define("mine::thrice", "(Tensor x) -> Tensor")
    torch.library.register_autograd("mine::thrice", lambda ctx, g: 3 * g)
    torch.library.impl("mine::thrice", "cpu", lambda x: torch.tensor(3 * x.numpy()))
    x = torch.ones(2, requires_grad=True)
    torch.ops.mine.thrice(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def _keep_scale(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]
