"""What PyTorch's own databases of operations, modules and optimisers, and its test files, showed to be different."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import pyburn
import pyburn.compat
import pyburn.nn.functional as F
from pyburn import nn


@pytest.fixture
def torch() -> Iterator[Any]:
    pyburn.compat.install()
    try:
        yield importlib.import_module("torch")
    finally:
        pyburn.compat.uninstall()


def test_bounds_and_pieces_by_their_names() -> None:
    assert pyburn.arange(end=3).tolist() == [0, 1, 2] and pyburn.arange(start=1, end=3).tolist() == [1, 2]
    assert pyburn.arange(end=4.0, step=2).tolist() == [0.0, 2.0]
    with pytest.raises(ValueError, match="missing"):
        pyburn.arange()
    x = pyburn.arange(6)
    assert [len(p) for p in x.tensor_split(sections=4)] == [2, 2, 1, 1]
    assert [p.tolist() for p in pyburn.tensor_split(x, indices=(1, 4))] == [[0], [1, 2, 3], [4, 5]]


def test_no_axes_are_no_reduction_of_truth() -> None:
    x = pyburn.tensor([[0.0, 2.0], [3.0, 0.0]])
    for function in (pyburn.all, pyburn.any):
        assert function(x, dim=()).tolist() == [[False, True], [True, False]]
        assert function(x, dim=(), keepdim=True).shape == (2, 2)
    assert x.any(dim=None).item() is True and x.sum(dim=()).item() == 5


def test_clamp_promotes_all_three_at_once() -> None:
    x = pyburn.arange(4)
    low, high = pyburn.tensor(0.5), pyburn.tensor(2.5, dtype=pyburn.float64)
    assert pyburn.clamp(x, low, high).dtype == pyburn.float64
    assert pyburn.clamp(x, low, high).tolist() == [0.5, 1, 2, 2.5]
    assert pyburn.clamp(x.float(), low, high).dtype == pyburn.float32


def test_a_gradient_lies_in_memory_as_its_leaf_does() -> None:
    w = pyburn.randn(3, 4, requires_grad=True)
    (pyburn.randn(5, 4) @ w.t()).sum().backward()
    assert w.grad.is_contiguous() and w.grad.view(-1).shape == (12,)
    w.grad.mul_(2)  # not a view that may not be written
    x = pyburn.randn(2, 3, 4, 5).contiguous(memory_format=pyburn.channels_last).requires_grad_()
    for create_graph in (False, True):
        x.grad = None
        F.interpolate(x, (3, 3), mode="bilinear").square().sum().backward(create_graph=create_graph)
        assert x.grad.stride() == x.stride()
    (expected,) = pyburn.autograd.grad(F.interpolate(x, (3, 3), mode="bilinear").square().sum(), x)
    assert pyburn.equal(x.grad, expected)
    part = pyburn.randn(4, 6)[:, ::2].T.detach().requires_grad_()  # not dense: plain order
    (part * part).sum().backward()
    assert part.grad.is_contiguous() and pyburn.equal(part.grad, 2 * part)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_gradients_of_convolutions_as_functions(axes: int) -> None:
    x = pyburn.randn(2, 4, *[6] * axes, dtype=pyburn.float64, requires_grad=True)
    w = pyburn.randn(6, 2, *[3] * axes, dtype=pyburn.float64, requires_grad=True)
    options: dict[str, Any] = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
    y = getattr(F, f"conv{axes}d")(x, w, **options)
    dy = pyburn.randn_like(y)
    dx, dw = pyburn.autograd.grad(y, (x, w), dy)
    assert pyburn.allclose(getattr(nn.grad, f"conv{axes}d_input")(x.shape, w, dy, **options), dx)
    assert pyburn.allclose(getattr(nn.grad, f"conv{axes}d_weight")(x, w.shape, dy, **options), dw)


@pytest.mark.parametrize(
    ("pool", "shape"),
    [
        (nn.MaxPool1d(2), (1, 0, 5)),
        (nn.MaxPool2d(2), (1, 0, 5, 5)),
        (nn.AvgPool2d(2), (3, 0, 5, 5)),
        (nn.MaxPool3d(1), (0, 1, 2, 10)),
        (nn.FractionalMaxPool2d(2, output_size=1), (1, 0, 5, 5)),
    ],
)
def test_only_the_batch_of_a_pool_may_be_empty(pool: nn.Module, shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match="batch"):
        pool(pyburn.ones(shape))


def test_fractional_pools_need_a_window() -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        nn.FractionalMaxPool3d(0, output_size=1)


def test_operations_on_lists_of_tensors(torch: Any) -> None:
    xs = [torch.tensor([1.0, 4.0]), torch.tensor([[9.0]])]
    assert [x.tolist() for x in torch._foreach_sqrt(xs)] == [[1, 2], [[3]]]
    assert [x.tolist() for x in torch._foreach_add(xs, xs, alpha=2)] == [[3, 12], [[27]]]
    assert [x.tolist() for x in torch._foreach_mul(xs, [2, 3])] == [[2, 8], [[27]]]
    assert [x.item() for x in torch._foreach_norm(xs, 1)] == [5, 9]
    assert [x.tolist() for x in torch._foreach_pow(2.0, xs)] == [[2, 16], [[512]]]
    assert [x.tolist() for x in torch._foreach_addcmul(xs, xs, xs, value=0.5)] == [[1.5, 12], [[49.5]]]
    assert [x.tolist() for x in torch._foreach_addcdiv(xs, xs, xs, torch.tensor([1.0, 2.0]))] == [[2, 5], [[11]]]
    assert [x.tolist() for x in torch._foreach_lerp(xs, torch._foreach_neg(xs), 0.5)] == [[0, 0], [[0]]]
    assert [x.tolist() for x in torch._foreach_maximum(xs, 2)] == [[2, 4], [[9]]]
    kept = list(xs)
    torch._foreach_maximum_(xs, 2.0)
    torch._foreach_sub_(xs, 1.0)
    assert xs[0] is kept[0] and [x.tolist() for x in xs] == [[1, 3], [[8]]]
    torch._foreach_copy_(xs, torch._foreach_clone(xs))
    torch._foreach_zero_(xs)
    assert xs[1].item() == 0
    with pytest.raises(RuntimeError, match="same number"):
        torch._foreach_add(xs, [1.0])
    with pytest.raises(RuntimeError, match="at least one"):
        torch._foreach_abs([])
    with pytest.raises(TypeError, match="tuple of Tensors"):
        torch._foreach_abs(xs[0])
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        _ = torch._foreach_nothing


# PyTorch's log_prob at 0.3, entropy, mean and variance.
GAMMAS = [
    ("Gamma", (0.5, 2.0), -0.2238049, -0.6025373, 0.25, 0.125),
    ("Gamma", (3.0, 2.0), -1.6216512, 1.1544313, 1.5, 0.75),
    ("Chi2", (3.0,), -1.6709249, 2.0541200, 3.0, 6.0),
    ("StudentT", (5.0, 1.0, 2.0), -1.7343808, 2.3206499, 1.0, 6.6666667),
    ("Beta", (0.5, 2.0), -0.0423706, -0.7652790, 0.2, 0.0457143),
]


@pytest.mark.parametrize(("name", "arguments", "log_prob", "entropy", "mean", "variance"), GAMMAS)
def test_distributions_of_gamma_variables(
    torch: Any, name: str, arguments: tuple[float, ...], log_prob: float, entropy: float, mean: float, variance: float
) -> None:
    d = getattr(importlib.import_module("torch.distributions"), name)(*arguments)
    assert d.log_prob(torch.tensor(0.3)).item() == pytest.approx(log_prob, abs=1e-4)
    assert d.entropy().item() == pytest.approx(entropy, abs=1e-4)
    assert d.mean.item() == pytest.approx(mean) and d.variance.item() == pytest.approx(variance, rel=1e-4)
    torch.manual_seed(3)
    drawn = d.sample((20000,))
    assert drawn.shape == (20000,) and drawn.mean().item() == pytest.approx(mean, rel=0.03)
    assert drawn.var().item() == pytest.approx(variance, rel=0.1)


def test_shares_and_gradients_of_gamma_variables(torch: Any) -> None:
    d = importlib.import_module("torch.distributions")
    shares = d.Dirichlet(torch.tensor([0.5, 2.0, 3.0])).sample((4,))
    assert shares.shape == (4, 3) and torch.allclose(shares.sum(-1), torch.ones(4))
    loc = torch.zeros(3, requires_grad=True)
    d.StudentT(4.0, loc).rsample().sum().backward()
    assert loc.grad.tolist() == [1, 1, 1]
    with pytest.raises(NotImplementedError, match="concentration"):
        d.Gamma(torch.ones(1, requires_grad=True), 1.0).rsample()
    with pytest.raises(ValueError, match="positive"):
        d.StudentT(-1.0)


def test_sparse_adam_leaves_alone_what_has_no_gradient() -> None:
    table = nn.Embedding(5, 2, sparse=True)
    start = table.weight.detach().clone()
    optimizer = pyburn.optim.SparseAdam(table.parameters(), lr=0.1)
    dense = nn.Parameter(start[[1, 3]].clone())
    adam = pyburn.optim.Adam([dense], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (table(pyburn.tensor([1, 3])) ** 2).sum().backward()
        optimizer.step()
        adam.zero_grad()
        (dense**2).sum().backward()
        adam.step()
    assert pyburn.equal(table.weight[[0, 2, 4]], start[[0, 2, 4]])
    assert pyburn.allclose(table.weight[[1, 3]], dense, atol=1e-6)
    state = optimizer.state_dict()
    assert state["state"][0]["step"] == 3 and list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    with pytest.raises(ValueError, match="Invalid beta parameter at index 0"):
        pyburn.optim.SparseAdam(table.parameters(), betas=(1.0, 0.0))


def test_lbfgs_remembers_no_step_out_of_range() -> None:
    w = nn.Parameter(pyburn.tensor([[0.5, 1.0, -2.0]]))
    x = pyburn.tensor([1.0, -2.0, 3.0])
    optimizer = pyburn.optim.LBFGS([w], maximize=True)

    def closure() -> pyburn.Tensor:
        optimizer.zero_grad()
        loss = w.mv(x).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    assert closure().item() == float("inf")


def test_batches_of_a_derived_subset_are_made_with_its_items() -> None:
    data = importlib.import_module("pyburn.utils.data")

    class Doubled(data.Subset):  # type: ignore[misc, name-defined]
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index) * 2

    batches = list(data.DataLoader(Doubled([1, 2, 3, 4], [3, 0, 1]), batch_size=3))
    assert batches[0].tolist() == [8, 2, 4]


def test_a_value_that_fills_a_place_twice_counts_once() -> None:
    value = pyburn.tensor(2.0, requires_grad=True)
    y = pyburn.zeros(2, 3).index_fill(-1, pyburn.tensor([0, 2, 0]), value)
    assert y.tolist() == [[2, 0, 2], [2, 0, 2]]
    y.sum().backward()
    assert value.grad.item() == 4


def test_residuals_of_least_squares_have_gradients() -> None:
    pyburn.manual_seed(0)
    a, b = pyburn.randn(5, 2, dtype=pyburn.float64, requires_grad=True), pyburn.randn(5, 3, dtype=pyburn.float64)
    pyburn.linalg.lstsq(a, b, driver="gelsd").residuals.sum().backward()
    rest = a.detach() @ pyburn.linalg.lstsq(a.detach(), b).solution - b
    expected = 2 * rest @ pyburn.linalg.lstsq(a.detach(), b).solution.T  # the derivative by the solution vanishes there
    assert pyburn.allclose(a.grad, expected)


def test_the_state_of_lbfgs_has_pytorchs_kinds() -> None:
    p, q = (nn.Parameter(pyburn.tensor([3.0, -2.0])) for _ in range(2))

    def steps(x: nn.Parameter, optimizer: pyburn.optim.LBFGS) -> None:
        def closure() -> pyburn.Tensor:
            optimizer.zero_grad()
            loss = ((x - 1) ** 4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    one = pyburn.optim.LBFGS([p], max_iter=3)
    steps(p, one)
    saved = one.state_dict()["state"][0]
    assert all(isinstance(r, pyburn.Tensor) for r in [*saved["ro"], saved["H_diag"]]) and saved["ro"][0].shape == ()
    other = pyburn.optim.LBFGS([q], max_iter=3)
    other.load_state_dict(one.state_dict())
    q.data.copy_(p.data)
    steps(p, one)
    steps(q, other)
    assert pyburn.allclose(p, q, rtol=1e-6)


def test_weights_of_samples_fit_their_bags() -> None:
    table, index = pyburn.ones(5, 2), pyburn.zeros(7, 3, dtype=pyburn.int64)
    with pytest.raises(ValueError, match="same shape as the input"):
        F.embedding_bag(index, table, per_sample_weights=pyburn.ones(21), mode="sum")
    with pytest.raises(RuntimeError, match="same type as weight"):
        F.embedding_bag(index, table, per_sample_weights=pyburn.ones(7, 3, dtype=pyburn.float64), mode="sum")


def test_zeros_for_unused_inputs_may_be_differentiated_again() -> None:
    x, a = pyburn.tensor(0.5, requires_grad=True), pyburn.tensor(1.0, requires_grad=True)
    (first,) = pyburn.autograd.grad(x * a, x, create_graph=True)
    (second,) = pyburn.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    (third,) = pyburn.autograd.grad(second, x, materialize_grads=True)
    assert second.item() == third.item() == 0
    assert second.requires_grad and not third.requires_grad
