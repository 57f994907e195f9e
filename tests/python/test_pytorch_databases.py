"""What PyTorch's own databases of operations, modules and optimisers, and its test files, showed to be different."""

from __future__ import annotations

import gc
import importlib
import io
import weakref
from typing import Any

import pytest

import pyburn
import pyburn.compat
import pyburn.nn.functional as F
from pyburn import nn


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


def test_a_group_is_the_dict_that_was_given() -> None:
    p, q = nn.Parameter(pyburn.ones(1)), nn.Parameter(pyburn.ones(1))
    group: dict[str, Any] = {"params": [("p", p)]}
    optimizer = pyburn.optim.SGD([group], lr=0.5)
    assert optimizer.param_groups[0] is group and group["params"] == [p] and group["param_names"] == ["p"]
    group["lr"] = 0.25
    p.grad = pyburn.ones(1)
    optimizer.step()
    assert p.item() == 0.75
    refused: dict[str, Any] = {"params": q, "lr": -1.0}
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group(refused)
    assert refused == {"params": q, "lr": -1.0}


def test_what_files_round_is_rounded_while_training() -> None:
    """So a run that was interrupted goes on as one that was not, and as PyTorch's, which keeps these numbers in float32."""
    for make in (pyburn.optim.NAdam, pyburn.optim.ASGD):
        p, q = (nn.Parameter(pyburn.full((3,), 2.0, dtype=pyburn.float64)) for _ in range(2))
        one, other = make([p], lr=0.1), make([q], lr=0.1)
        for step in range(6):
            p.grad, q.grad = p.detach().cos(), q.detach().cos()
            one.step()
            other.step()
            file = io.BytesIO()
            pyburn.save(other.state_dict(), file)
            file.seek(0)
            other.load_state_dict(pyburn.load(file))
            assert pyburn.equal(p, q), (make, step)


def test_one_cycle_saves_its_phases_as_pytorch() -> None:
    optimizer = pyburn.optim.SGD([nn.Parameter(pyburn.ones(1))], lr=0.1, momentum=0.9)
    scheduler = pyburn.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=20, pct_start=0.25, three_phase=True)
    assert scheduler.state_dict()["_schedule_phases"][1] == {
        "end_step": 8.0,
        "start_lr": "max_lr",
        "end_lr": "initial_lr",
        "start_momentum": "base_momentum",
        "end_momentum": "max_momentum",
    }
    expected = pyburn.lr_scheduler.rates(scheduler, 20)
    other = pyburn.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10)
    other.load_state_dict(scheduler.state_dict())
    assert pyburn.lr_scheduler.rates(other, 20) == expected


def test_nothing_to_optimise() -> None:
    loss = pyburn.tensor(3.0)
    assert pyburn.optim.LBFGS([{"params": []}]).step(lambda: loss) is loss
    nowhere = nn.Parameter(pyburn.ones(2, device="null"))
    nowhere.grad = pyburn.ones(2, device="null")
    with pytest.raises(RuntimeError, match="fused=True"):
        pyburn.optim.Adam([nowhere], fused=True).step()


def test_a_line_search_that_climbs_for_ever_reaches_infinity() -> None:
    """Along a parabola that opens downwards every step that the search tries comes from rounding; none is NaN."""
    for seed in range(4):
        pyburn.manual_seed(seed)
        weight, bias, x = nn.Parameter(pyburn.randn(10, 5)), nn.Parameter(pyburn.randn(10)), pyburn.randn(5)
        optimizer = pyburn.optim.LBFGS([weight, bias], maximize=True, line_search_fn="strong_wolfe")

        def closure() -> pyburn.Tensor:
            optimizer.zero_grad()  # noqa: B023
            loss = (weight.mv(x) + bias).square().sum()  # noqa: B023
            loss.backward()
            return loss

        for _ in range(20):
            optimizer.step(closure)
        assert closure().item() == float("inf")


def test_sparse_tensors_with_rows(torch: Any) -> None:
    made = torch.sparse_coo_tensor([[0, 2, 2]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))
    assert made.tolist() == [[1, 2], [0, 0], [8, 10]]
    assert torch.sparse_coo_tensor([[0, 1]], [[1.0], [3.0]]).shape == (2, 1)
    assert torch.sparse_coo_tensor(torch.empty(1, 0), torch.empty(0, 1), (5, 1)).abs().sum() == 0


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


def test_a_tensor_without_axes_stands_for_a_number() -> None:
    x = pyburn.tensor([-1.0, 0.5, 3.0])
    high = pyburn.tensor(1.0)
    assert pyburn.clamp(x, 0, high).tolist() == [0, 0.5, 1]
    assert x.clamp(min=high, max=2).tolist() == [1, 1, 2]
    assert x.clone().clamp_(0, high).tolist() == [0, 0.5, 1]
    for bound in (pyburn.tensor([1.0]), pyburn.tensor(1.0, requires_grad=True)):
        with pytest.raises(TypeError, match="no form"):
            pyburn.clamp(x, 0, bound)


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU])
def test_projections_are_for_lstm_alone(layer: Any) -> None:
    with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM, not RNN or GRU"):
        layer(3, 4, proj_size=2)
    with pytest.raises(TypeError, match="unexpected keyword"):
        layer(3, 4, projections=2)


@pytest.mark.parametrize("layer", [nn.RNN, nn.GRU, nn.LSTM])
def test_options_of_recurrent_layers_have_their_types(layer: Any) -> None:
    for options, text in [
        ({"bias": 1}, "bias should be of type bool, got: int"),
        ({"batch_first": "False"}, "batch_first should be of type bool, got: str"),
        ({"input_size": 3.0}, "input_size should be of type int, got: float"),
    ]:
        with pytest.raises(TypeError, match=text):
            layer(**{"input_size": 3, "hidden_size": 5, **options})
    with pytest.warns(UserWarning, match="dropout"):
        layer(3, 5, dropout=0.5)
    with pytest.raises(ValueError, match="RNN input dtype .* does not match weight dtype"):
        layer(3, 5)(pyburn.zeros(2, 4, 3, dtype=pyburn.float64))


@pytest.mark.parametrize(("cell", "pair"), [(nn.RNNCell, False), (nn.GRUCell, False), (nn.LSTMCell, True)])
def test_states_of_cells_are_checked(cell: Any, pair: bool) -> None:
    for input, state, error, text in [
        ((3, 11), (3, 20), RuntimeError, "input has inconsistent input_size: got 11 expected 10"),
        ((3, 10), (3, 21), RuntimeError, "hidden0 has inconsistent hidden_size: got 21, expected 20"),
        ((3, 10), (5, 20), RuntimeError, "Input batch size 3 doesn't match hidden0 batch size 5"),
        ((3, 10), (3, 1, 1, 20), ValueError, "to be 1D or 2D, got 4D instead"),
    ]:
        h = pyburn.zeros(state)
        with pytest.raises(error, match=text):
            cell(10, 20)(pyburn.zeros(input), (h, h) if pair else h)


def test_a_view_of_another_dtype_shares_the_bytes() -> None:
    x = pyburn.tensor([[1.0, 2.0], [3.0, 4.0]])
    bits = x.view(pyburn.int32)
    assert bits.data_ptr() == x.data_ptr() and bits.tolist() == [[0x3F800000, 0x40000000], [0x40400000, 0x40800000]]
    bits[0, 0] = 0
    x[1, 1] = 1.0
    assert x[0, 0].item() == 0 and bits[1, 1].item() == 0x3F800000 and x._version == bits._version
    pairs = x.view(pyburn.float64)
    assert pairs.shape == (2, 1) and pairs.stride() == (1, 1) and pairs.data_ptr() == x.data_ptr()
    halves = x[1:].view(pyburn.int16)
    assert halves.shape == (1, 4) and halves.stride() == (4, 1) and halves.storage_offset() == 4
    assert pyburn.zeros(1, 4).expand(3, 4).view(pyburn.float64).stride() == (0, 1)
    # a write reads what was there before, though the dtypes differ
    y = pyburn.tensor([1.0, 2.0, 3.0, 4.0])
    seen = y.view(pyburn.int32)
    seen[1:].copy_(y[:3])
    assert seen.tolist() == [0x3F800000, 1, 2, 3]


def test_a_view_of_another_dtype_has_no_history() -> None:
    x = pyburn.ones(4, requires_grad=True)
    for dtype in (pyburn.int32, pyburn.float64, pyburn.float16):
        assert not x.view(dtype).requires_grad
    kept = (x * 2).exp()
    kept.detach().view(pyburn.int32).zero_()  # the gradient reads the result
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.sum().backward()


def test_views_of_another_dtype_that_do_not_fit() -> None:
    x = pyburn.zeros(4, 6)
    for wrong in (x[:, 1:3], x[:, ::2], x.T, pyburn.zeros(2, 3), pyburn.zeros(2, 3)[:, :2], pyburn.zeros(())):
        with pytest.raises(RuntimeError, match="seen"):
            wrong.view(pyburn.float64)
    with pytest.raises(RuntimeError, match="several dtypes"):
        pyburn.save({"x": x, "bits": x.view(pyburn.int32)}, io.BytesIO())


def test_results_of_functions_in_python_are_written_where_they_fit() -> None:
    x = pyburn.arange(4.0)
    target = pyburn.zeros(2)
    with pytest.warns(UserWarning, match="resized"):
        assert pyburn.view_copy(x, (2, 2), out=target) is target
    assert target.tolist() == [[0, 1], [2, 3]]
    parts = [pyburn.empty(0), pyburn.empty(0)]
    pyburn.split_copy(x, 2, out=parts)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3]]
    ranks = pyburn.empty(0, dtype=pyburn.int64)
    tolerance = pyburn.tensor(1e-3)
    assert pyburn.linalg.matrix_rank(pyburn.eye(3), atol=tolerance, out=ranks).item() == 3 and ranks.shape == ()
    for out in (pyburn.empty(0, dtype=pyburn.int64),):
        with pytest.raises(RuntimeError, match="can't be cast"):
            pyburn.linalg.pinv(pyburn.eye(2), atol=tolerance, out=out)
        with pytest.raises(RuntimeError, match="can't be cast"):
            pyburn.permute_copy(pyburn.ones(2, 2), (1, 0), out=out)


def test_a_parameter_has_one_id_for_all_its_life() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))
    head = list(map(id, model[1].parameters()))  # nobody keeps the objects
    others = [pyburn.ones(2) for _ in range(8)]
    assert [id(p) in head for p in model.parameters()] == [False, False, True, True] and others
    before = id(model[0].weight)
    nn.utils.parametrizations.weight_norm(model[1])
    nn.utils.prune.random_unstructured(model[0], "weight", 0.5)
    nn.utils.prune.remove(model[0], "weight")
    assert id(model[0].weight) == before
    model[0].bias.note = [model]  # a cycle through a sleeping object can be collected
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_loading_leaves_no_cycles() -> None:
    model = nn.LSTM(4, 4)
    state = model.state_dict()
    gc.collect()
    model.load_state_dict(state)
    assert gc.collect() == 0


def test_targets_say_what_does_not_fit() -> None:
    scores = pyburn.zeros(2, 3)
    for target, options, error, text in [
        (pyburn.zeros(2, 3).long(), {}, RuntimeError, "Expected floating point type for target with class probabilities"),
        (pyburn.zeros(2), {}, RuntimeError, "expected target dtype to be Long or Byte"),
        (pyburn.zeros(3).long(), {}, ValueError, r"Expected input batch_size \(2\) to match target batch_size \(3\)"),
        (pyburn.zeros(2).long(), {"weight": pyburn.ones(2)}, RuntimeError, "either for all 3 classes or no classes"),
        (pyburn.zeros(2).long(), {"weight": pyburn.ones(3).half()}, RuntimeError, "expected scalar type float32 but found float16"),
        (pyburn.zeros(2, 3), {"ignore_index": 1}, RuntimeError, "ignore_index is not supported for floating point target"),
        (pyburn.zeros(2).long(), {"label_smoothing": 1.5}, RuntimeError, "label_smoothing must be between 0.0 and 1.0"),
    ]:
        with pytest.raises(error, match=text):
            F.cross_entropy(scores, target, **options)
    with pytest.raises(RuntimeError, match="expected scalar type"):
        nn.NLLLoss(weight=pyburn.ones(3).half())(scores, pyburn.zeros(2).long())
    with pytest.raises(RuntimeError, match=r"Expected target size \[5\], but got \[3\]"):
        nn.MultiMarginLoss()(pyburn.zeros(5, 10), pyburn.zeros(3).long())


def test_layers_say_which_input_they_expect() -> None:
    with pytest.raises(RuntimeError, match=r"non-empty 3D or 4D \(batch mode\) tensor expected for input"):
        nn.MaxPool2d(2)(pyburn.zeros(3, 4))
    with pytest.raises(RuntimeError, match="pad should be at most half of effective kernel size"):
        nn.MaxPool2d(3, padding=5)(pyburn.zeros(1, 1, 10, 10))
    with pytest.raises(RuntimeError, match="_random_samples to have the same dtype"):
        nn.FractionalMaxPool2d(2, output_ratio=0.5, _random_samples=pyburn.zeros(1, 3, 2).double())(pyburn.zeros(1, 3, 5, 7))
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 4D input\)"):
        nn.CircularPad1d(1)(pyburn.zeros(2, 3, 4, 5))
    for layer in (nn.ReflectionPad1d(1), nn.ReplicationPad1d(1)):
        assert layer(pyburn.zeros(0, 3, 4)).shape == (0, 3, 6)
        with pytest.raises(RuntimeError, match="Expected 2D or 3D"):
            layer(pyburn.zeros(2, 0, 4))
    with pytest.raises(RuntimeError, match="cut off"):
        F.pad(pyburn.zeros(1, 1, 4), (-3, -2), mode="circular")
    with pytest.raises(RuntimeError, match="Expected 3D or 4D"):
        F.unfold(pyburn.zeros(3, 0, 3, 4), 2)


def test_channels_are_dropped_as_in_pytorch() -> None:
    with pytest.warns(UserWarning, match="Received a 3D input to dropout2d"):
        y = F.dropout2d(pyburn.ones(50, 4, 6))
    per_row = (y == 0).sum(2)
    assert set(per_row.flatten().tolist()) == {0, 6}  # a row is dropped as a whole
    assert set((per_row == 6).sum(1).tolist()) - {0, 4}  # and not all rows of an example at once
    with pytest.warns(UserWarning, match="Received a 2-D input to dropout3d"):
        F.dropout3d(pyburn.ones(2, 3))
    with pytest.raises(RuntimeError, match="Expected 2D or 3D input, but received a 4D input"):
        F.dropout1d(pyburn.ones(1, 2, 2, 2))


def test_nothing_has_gradients_of_zero() -> None:
    layer = nn.GroupNorm(2, 4)
    layer(pyburn.zeros(0, 4, 2, 2)).sum().backward()
    assert all(p.grad.abs().sum().item() == 0 for p in layer.parameters())


def test_steps_that_are_recorded_keep_what_they_read() -> None:
    p = pyburn.rand(5, dtype=pyburn.float64, requires_grad=True)
    grad = pyburn.rand(5, dtype=pyburn.float64, requires_grad=True)
    parts = [pyburn.rand(5, dtype=pyburn.float64, requires_grad=True) for _ in range(3)]

    def step(p: pyburn.Tensor, grad: pyburn.Tensor, *parts: pyburn.Tensor) -> tuple[pyburn.Tensor, ...]:
        x = p.clone()
        x.grad = grad
        optimizer = pyburn.optim.Adam([x], lr=0.9, amsgrad=True, differentiable=True)
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        optimizer.state[x].update({"step": pyburn.tensor(10.0), **{name: part.clone() for name, part in zip(names, parts)}})
        optimizer.step()
        return (x, *[value for value in optimizer.state[x].values() if isinstance(value, pyburn.Tensor) and value.requires_grad])

    assert len(step(p, grad, *parts)) == 4
    assert pyburn.autograd.gradcheck(step, (p, grad, *parts))  # it looks at results that want a gradient


def test_lazy_weights_cannot_be_normalised() -> None:
    for normalise in (nn.utils.weight_norm, nn.utils.spectral_norm):
        with pytest.raises(ValueError, match="uninitialized parameters"):
            normalise(nn.LazyLinear(3))


def test_nothing_cannot_be_packed() -> None:
    with pytest.raises(RuntimeError, match="empty tensor"):
        nn.utils.rnn.pack_padded_sequence(pyburn.zeros(0, 0), [])


def test_a_step_that_was_replaced_is_warned_of() -> None:
    optimizer = pyburn.optim.SGD([nn.Parameter(pyburn.ones(1))], lr=0.1)
    scheduler = pyburn.optim.lr_scheduler.StepLR(optimizer, 3)
    own = optimizer.step
    optimizer.step = lambda *args: own(*args)  # type: ignore[method-assign]
    optimizer.step()
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()
    assert "step" not in scheduler.state_dict()


def test_arguments_of_casts_and_pools() -> None:
    x = pyburn.ones(1, 2, 3, 4)
    assert x.half(memory_format=pyburn.channels_last).stride() == (24, 1, 8, 2)
    assert x.double(memory_format=pyburn.preserve_format).dtype is pyburn.float64
    values, indices = F.max_pool2d_with_indices(x, 2, return_indices=False)
    assert values.shape == indices.shape == (1, 2, 1, 2)
    assert pyburn.linalg.vander(pyburn.tensor(3.0), N=3).tolist() == [1, 3, 9]
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="copy"):
        layer.to("cpu", copy=True)
    with pytest.raises(TypeError, match="takes a device"):
        layer.to("cpu", True)


def test_a_pruned_model_can_be_saved(torch: Any, tmp_path: Any) -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    nn.utils.prune.l1_unstructured(model[0], "weight", 0.5)
    torch.save(model, tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt", weights_only=False)
    x = pyburn.ones(2, 4)
    assert pyburn.equal(loaded(x), model(x)) and set(loaded.state_dict()) == set(model.state_dict())
