"""router(primary, fallback): a primary with a handful of kernels does everything, and works on its own memory."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn
from pyburn import backend
from pyburn.testing import conformance


class TwoKernels(backend.Backend):
    """Addition and multiplication."""

    name = "twokernels"
    ran: list[str] = []

    def run(self, op, inputs, attributes, outputs):
        self.ran.append(op)
        return super().run(op, inputs, attributes, outputs)

    @backend.kernel
    def add(self, *tensors, scalar, value, alpha):
        a, b = (value, tensors[0]) if scalar == 1 else (tensors[0], value if scalar == 2 else tensors[1])
        return a + alpha * b

    @backend.kernel
    def mul(self, *tensors, scalar, value):
        a, b = (value, tensors[0]) if scalar == 1 else (tensors[0], value if scalar == 2 else tensors[1])
        return a * b


backend.register("twokernels", TwoKernels)
ROUTER = "router(twokernels, cpu)"

# One of each family, with everything that is odd: views, updates, indices, sizes that values decide, several results.
OPERATIONS = [
    "add",
    "mul",
    "sub",
    "div",
    "exp",
    "where",
    "cast",
    "contiguous_copy",
    "clamp",
    "sum",
    "mean",
    "var_mean",
    "argmax",
    "max.dim",
    "cumsum",
    "sort",
    "topk",
    "nonzero",
    "masked_select",
    "unique",
    "gather",
    "scatter",
    "scatter_add",
    "index_select",
    "index_put",
    "index_put_",
    "cat",
    "stack",
    "flip",
    "matmul",
    "linear",
    "softmax",
    "layer_norm",
    "batch_norm",
    "cross_entropy",
    "conv2d",
    "max_pool2d",
    "embedding",
    "linalg_solve",
    "as_strided",
    "view",
    "copy_",
    "fill_",
    "lerp_",
    "bitwise_and",
    "floor_divide",
    "full",
    "arange",
    "eye",
    "tril",
]


def test_every_family_on_a_primary_with_two_kernels():
    known = {name for row in pyburn._core._op_table() for name in (row["name"], row["name"].split(".")[0])}
    kinds = ["value", "gradient", "out", "in_place", "error"]
    report = conformance.run(ROUTER, ops=[op for op in OPERATIONS if op in known], kinds=kinds, complete=True, quiet=True)
    assert report.passed > 1500
    assert {"add", "mul"} == set(TwoKernels.ran)


def test_the_device_itself():
    assert conformance.run(ROUTER, kinds="basics", complete=True, quiet=True).passed == 5


def test_training_with_adam_is_that_of_the_cpu():
    def train(device):
        pyburn.manual_seed(0)
        nn = pyburn.nn
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3)).to(device)
        optimizer = pyburn.optim.Adam(model.parameters(), lr=0.02)
        x, y = pyburn.randn(12, 4).to(device), pyburn.arange(12).remainder(3).to(device)
        losses = []
        for _ in range(8):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        return losses, [p.detach().cpu().numpy() for p in model.parameters()]

    (losses, weights), (expected_losses, expected) = train(ROUTER), train("cpu")
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-4)
    for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_programs_of_views_and_writes():
    def program(device):
        x = pyburn.arange(24, dtype=pyburn.float32).reshape(2, 3, 4).to(device)
        row, column, diagonal = x[0, 1], x[:, :, 2], x[0, :, :3].diagonal()
        row += 1
        column.sqrt_()
        diagonal.mul_(pyburn.tensor([1.0, 2.0, 3.0], device=device))
        x[:, 1:, ::2] = -1
        x[1] *= x[0]
        x[0, 0].clamp_(max=2.5)
        x.T[3].copy_(x.T[2])
        x[x > 100] = 0
        x.index_add_(1, pyburn.tensor([0, 2], device=device), pyburn.ones(2, 2, 4, device=device))
        x.T.sub_(1).div_(2)
        pyburn.exp(row, out=x[1, 2])
        flat = x.view(-1)
        flat[3:7], flat[10] = flat[4:8].clone(), 42
        return [t.tolist() for t in (x, row, column, diagonal)]

    assert program(ROUTER) == program("cpu")


def test_integers_bools_and_sizes_that_values_decide():
    def program(device):
        x = pyburn.tensor([3, 0, -2, 0, 7], device=device)
        mask = x != 0
        x[mask] += 1
        x <<= 1
        return [
            t.tolist()
            for t in (x.nonzero(), x[mask], x.unique(), x // 3, x % 4, ~mask, x.to(pyburn.uint8), x.bool().sum(), mask.int().cumsum(0))
        ]

    assert program(ROUTER) == program("cpu")


def test_gradients_of_second_order_through_the_fallback():
    def program(device):
        x = pyburn.tensor([0.5, 1.5], device=device, requires_grad=True)
        (g,) = pyburn.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
        (g * g).sum().backward()
        return x.grad.tolist()

    np.testing.assert_allclose(program(ROUTER), program("cpu"), rtol=1e-6)


def test_what_neither_has_is_named():
    class OnlyFull(TwoKernels):
        name = "onlyfull"

        @backend.kernel
        def full(self, *, size, value, dtype):
            return np.full(size, value, dtype.name)

    backend.register("onlyfull", OnlyFull)
    x = pyburn.ones(3, device="router(twokernels, onlyfull)")
    assert (x + x).tolist() == [2, 2, 2]
    with pytest.raises(
        pyburn.UnsupportedOp, match=r"^\[sin\] has no kernel for float32 on router\(twokernels, onlyfull\), and no decomposition"
    ):
        x.sin()
    with pytest.raises(pyburn.UnsupportedOp, match=r"^\[nonzero\] has no kernel"):
        x.nonzero()


def test_an_error_of_the_fallback_leaves_the_tensor_as_it_was():
    x = pyburn.ones(3, device=ROUTER)
    with pytest.raises(IndexError, match="out of range"):
        x.index_fill_(0, pyburn.tensor([7], device=ROUTER), 5)
    assert x.tolist() == [1, 1, 1]


def test_memory_that_others_see_is_written_into():
    x = pyburn.zeros(4, device="router(numpy, cpu)")
    seen = x.numpy()
    x += 1
    with pyburn.no_grad():
        x.exp_()
    np.testing.assert_allclose(seen, np.exp(np.ones(4)), rtol=1e-6)

    class WithoutExp(backend.numpy_backend.NumpyBackend):
        name = "withoutexp"

        def supports(self, op, dtype):
            return op != "exp" and super().supports(op, dtype)

    backend.register("withoutexp", WithoutExp)
    x = pyburn.ones(4, device="router(withoutexp, cpu)")
    seen = x.numpy()
    x.exp_()  # written back from the fallback
    np.testing.assert_allclose(seen, np.exp(np.ones(4)), rtol=1e-6)
