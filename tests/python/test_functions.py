"""Tensor functions: arguments, `out=`, dtypes, views, errors."""

from __future__ import annotations

import importlib
import io
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


def test_sparse_tensors_with_rows(torch: Any) -> None:
    made = torch.sparse_coo_tensor([[0, 2, 2]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))
    assert made.tolist() == [[1, 2], [0, 0], [8, 10]]
    assert torch.sparse_coo_tensor([[0, 1]], [[1.0], [3.0]]).shape == (2, 1)
    assert torch.sparse_coo_tensor(torch.empty(1, 0), torch.empty(0, 1), (5, 1)).abs().sum() == 0


def test_a_0d_tensor_is_accepted_as_a_number() -> None:
    x = pyburn.tensor([-1.0, 0.5, 3.0])
    high = pyburn.tensor(1.0)
    assert pyburn.clamp(x, 0, high).tolist() == [0, 0.5, 1]
    assert x.clamp(min=high, max=2).tolist() == [1, 1, 2]
    assert x.clone().clamp_(0, high).tolist() == [0, 0.5, 1]
    for bound in (pyburn.tensor([1.0]), pyburn.tensor(1.0, requires_grad=True)):
        with pytest.raises(TypeError, match="no form"):
            pyburn.clamp(x, 0, bound)


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
        with pytest.raises(RuntimeError, match="viewed"):
            wrong.view(pyburn.float64)
    with pytest.raises(RuntimeError, match="different dtypes"):
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


def test_what_pytorch_asserts_is_an_assertion_error() -> None:
    x = pyburn.ones(2, 3, 4)
    attention = nn.MultiheadAttention(4, 2)
    refused = {
        "Padding_idx must be within num_embeddings": lambda: nn.Embedding(5, 3, padding_idx=7),
        "must be within num_embeddings": lambda: F.embedding(pyburn.tensor([0]), pyburn.ones(5, 2), padding_idx=-7),
        "Shape of weight does not match": lambda: nn.Embedding(5, 3, _weight=pyburn.ones(4, 3)),
        "embed_dim must be divisible by num_heads": lambda: nn.MultiheadAttention(5, 2),
        "expected `key` and `value` to be 3-D but found 2-D and 3-D": lambda: attention(x, x[0], x),
        "expected `key_padding_mask` to be `None` or 2-D": lambda: attention(x, x, x, key_padding_mask=pyburn.ones(3)),
        "expected `attn_mask` to be `None`, 2-D or 3-D": lambda: attention(x, x, x, attn_mask=pyburn.ones(3)),
        "query should be unbatched 2D or batched 3D tensor": lambda: attention(x[0, 0], x, x),
        "was expecting embedding dimension of 4, but got 5": lambda: attention(*[pyburn.ones(2, 3, 5)] * 3),
        r"max_val \(1.*\) must be greater than min_val \(2": lambda: nn.Hardtanh(2, 1),
    }
    for text, call in refused.items():
        with pytest.raises(AssertionError, match=text) as caught:
            call()
        assert isinstance(caught.value, (RuntimeError, ValueError)) and isinstance(caught.value, pyburn.AssertionFailed)


def test_older_functions_that_write_in_place() -> None:
    class Negate(pyburn.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.neg_()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return -g

    x = pyburn.ones(2, requires_grad=True)
    Negate.apply(x.clone()).sum().backward()
    assert x.grad.tolist() == [-1, -1] and Negate(inplace=True).inplace


def test_flags_of_conversions_are_kept(torch: Any) -> None:
    future = importlib.import_module("torch.__future__")
    for name in ("swap", "overwrite"):
        get, put = (getattr(future, f"{verb}_{name}_module_params_on_conversion") for verb in ("get", "set"))
        assert get() is False
        put(True)
        assert get() is True
        put(False)
    from torch.nn import _reduction

    assert _reduction.get_enum("mean") == 1


@pytest.mark.parametrize("function", [F.silu, F.hardswish, F.relu])
def test_writes_to_shared_memory_say_what_is_unsupported(function: Any) -> None:
    with pytest.raises(RuntimeError, match="unsupported operation: more than one element"):
        function(pyburn.randn(1).expand(3), inplace=True)


def test_functions_take_arguments_by_name() -> None:
    class Scaled(pyburn.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, scale: float = 1.0) -> Any:
            ctx.save_for_backward(x, y)
            ctx.scale = scale
            return scale * x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * ctx.scale * y, g * ctx.scale * x, None

    class Separate(pyburn.autograd.Function):
        @staticmethod
        def forward(x: Any, factor: float = 2.0) -> Any:
            return factor * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            _, ctx.factor = inputs

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None

    x, y = (pyburn.tensor([v], requires_grad=True) for v in (2.0, 3.0))
    for out in (Scaled.apply(x, y=y, scale=5.0), Scaled.apply(scale=5.0, y=y, x=x)):
        assert [g.tolist() for g in pyburn.autograd.grad(out, (x, y))] == [[15], [10]]
    for out, slope in ((Separate.apply(x), 2), (Separate.apply(x, factor=3.0), 3)):
        assert pyburn.autograd.grad(out, x)[0].item() == slope
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        Scaled.apply(x, other=y)


def test_options_that_are_no_numbers() -> None:
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class 'complex'>"):
        nn.HuberLoss(delta=1j)
    with pytest.raises(RuntimeError, match="Trying to create tensor with negative dimension"):
        nn.Embedding(-1, 3)


def test_cosine_similarity_promotes_integers():
    y = F.cosine_similarity(pyburn.tensor([[3, 4]], dtype=pyburn.int8), pyburn.tensor([[3.0, 4.0]]))
    assert y.dtype is pyburn.float32 and y.item() == pytest.approx(1.0)


def test_randint_may_ask_for_a_gradient():
    assert pyburn.randint(0, 5, (3,), dtype=pyburn.float32, requires_grad=True).requires_grad
    assert not pyburn.randint(5, (3,), requires_grad=False).requires_grad
    with pytest.raises(RuntimeError, match="floating"):
        pyburn.randint(5, (3,), requires_grad=True)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (pyburn.linalg.norm, (pyburn.ones(3, 3),)),
        (pyburn.linalg.matrix_norm, (pyburn.ones(3, 3),)),
        (pyburn.linalg.cross, (pyburn.eye(3), pyburn.ones(3, 3))),
        (pyburn.linalg.cond, (2 * pyburn.eye(3),)),
        (pyburn.linalg.tensorinv, (pyburn.eye(4).reshape(2, 2, 2, 2),)),
        (pyburn.linalg.tensorsolve, (pyburn.eye(4).reshape(2, 2, 2, 2), pyburn.ones(2, 2))),
        (pyburn.linalg.householder_product, (pyburn.eye(3), pyburn.zeros(3))),
        (pyburn.linalg.lu_solve, (*pyburn.linalg.lu_factor(2 * pyburn.eye(3)), pyburn.ones(3, 1))),
        (pyburn.lu_solve, (pyburn.ones(3, 1), *pyburn.linalg.lu_factor(2 * pyburn.eye(3)))),
    ],
)
def test_out_of_linear_algebra(function, args):
    wanted, out = function(*args), pyburn.empty(0)
    assert function(*args, out=out) is out
    assert pyburn.equal(out, wanted)


def test_broadcast_shapes_of_something_else():
    with pytest.raises(RuntimeError, match="should be of type ints"):
        pyburn.broadcast_shapes(1.0)


def test_a_0d_tensor_is_accepted_as_a_number_in_functions():
    x, limit, two = pyburn.tensor([-1.0, 0.5, 4.0]), pyburn.tensor(2.0), pyburn.tensor(2)
    assert pyburn.clamp(x, 0, limit).tolist() == [0.0, 0.5, 2.0]
    assert x.clamp(min=limit, max=3).tolist() == [2.0, 2.0, 3.0]
    assert x.clone().clamp_(0, limit).tolist() == [0.0, 0.5, 2.0]
    assert pyburn.clamp(pyburn.arange(4), 0, pyburn.tensor(1.5)).dtype == pyburn.float32
    assert pyburn.norm(pyburn.tensor([3.0, 4.0]), limit).item() == pytest.approx(5.0)
    assert [part.tolist() for part in pyburn.split(x, two)] == [[-1.0, 0.5], [4.0]]
    assert pyburn.normal(0, limit, (2,)).shape == (2,)
    assert pyburn.randint(0, two, (3,)).shape == (3,)
    with pytest.raises(TypeError, match="no form"):  # its gradient would be lost
        pyburn.clamp(x, 0, pyburn.tensor(2.0, requires_grad=True))
    with pytest.raises(TypeError, match="no form"):
        pyburn.clamp(x, 0, pyburn.tensor([2.0]))


def test_tensors_as_older_scripts_make_them():
    x = pyburn.ones(2, dtype=pyburn.float64)
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).tolist() == [1.0, 2.0] and x.new([1]).dtype == pyburn.float64
    assert x.new(pyburn.tensor([1.5])).dtype == pyburn.float64 and x.new().shape == (0,)
    assert x.type(pyburn.float32).dtype == pyburn.float32 and x.type() == "pyburn.DoubleTensor"
    with pytest.raises((TypeError, RuntimeError)):
        x.type("torch.NoTensor")


@pytest.mark.parametrize("device", ["cpu", "fusion(cpu)"])
def test_a_condition_of_bytes_is_taken_with_a_warning(device):
    condition, x = pyburn.tensor([1, 0, 2], dtype=pyburn.uint8, device=device), pyburn.ones(3, device=device, requires_grad=True)
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
        y = pyburn.where(condition, x, 0.0)
    assert y.tolist() == [1, 0, 1]
    y.sum().backward()
    assert x.grad.tolist() == [1, 0, 1]
    with pytest.warns(UserWarning, match="uint8"):
        assert x.where(condition, pyburn.zeros(3, device=device)).tolist() == [1, 0, 1]
    for dtype in (pyburn.int8, pyburn.int64, pyburn.float32):
        with pytest.raises(RuntimeError, match="boolean"):
            pyburn.where(condition.to(dtype), x, 0.0)
    with pytest.raises(RuntimeError, match="boolean mask"):
        x.masked_fill(condition, 2.0)


@pytest.mark.parametrize("function", [pyburn.linalg.norm, pyburn.linalg.vector_norm, pyburn.sum, pyburn.logsumexp, pyburn.amax])
def test_numpys_names_of_arguments(function):
    x = pyburn.arange(6.0).reshape(2, 3)
    expected = function(x, dim=1, keepdim=True)
    assert function(x, axis=1, keepdims=True).equal(expected) and expected.shape == (2, 1)
    if function is not pyburn.linalg.vector_norm:  # PyTorch calls its tensor x itself
        assert function(x=x, axis=1, keepdims=True).equal(expected) and function(a=x, dim=1, keepdim=True).equal(expected)
    for wrong in ({"dim": 1, "axis": 1}, {"axis": 1, "along": 1}, {"input": x, "x": x}):
        with pytest.raises(TypeError):
            function(*() if "x" in wrong else (x,), **wrong)


def test_numpys_names_of_arguments_of_functions_in_python():
    x = pyburn.arange(9.0).reshape(3, 3)
    assert pyburn.linalg.matrix_norm(x, axis=(0, 1), keepdims=True).shape == (1, 1)
    assert pyburn.linalg.cross(x, x2=x + 1, axis=1).equal(pyburn.linalg.cross(x, x + 1, dim=1))
    assert x.size(axis=1) == 3 and x.stride(axis=0) == 3


def test_numbers_in_tensors():
    assert pyburn.linspace(pyburn.tensor(0.0), pyburn.tensor(1), 3).tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(TypeError, match="'end' must be a number"):
        pyburn.linspace(0, pyburn.ones(2), 3)


def test_functions_that_change_a_tensor():
    x = pyburn.tensor([-1.0, 4.0])
    assert pyburn.relu_(x) is x and x.tolist() == [0, 4]
    assert pyburn.sqrt_(x) is x and x.tolist() == [0, 2]


def test_copies_of_views():
    x = pyburn.arange(6.0).reshape(2, 3)
    for copy, view in [
        (pyburn.permute_copy(x, (1, 0)), x.permute(1, 0)),
        (pyburn.select_copy(x, 0, 1), x[1]),
        (pyburn.view_copy(x, (3, 2)), x.view(3, 2)),
        (pyburn.unfold_copy(x, 1, 2, 1), x.unfold(1, 2, 1)),
        (pyburn.alias_copy(x), x),
        (pyburn.split_copy(x, 1)[1], x[1:]),
    ]:
        assert pyburn.equal(copy, view) and copy.data_ptr() != view.data_ptr()


def test_range_holds_its_end():
    assert pyburn.range(0, 2, 0.5).tolist() == [0, 0.5, 1, 1.5, 2] and pyburn.range(1, 3).dtype is pyburn.float32
    assert pyburn.range(3, 1, -1, dtype=pyburn.int64).tolist() == [3, 2, 1]
    with pytest.raises(ValueError, match="towards"):
        pyburn.range(1, 3, -1)


def test_norms_by_name():
    m = pyburn.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert pyburn.frobenius_norm(m).item() == 5 and pyburn.nuclear_norm(m).item() == pytest.approx(7)
    assert pyburn.frobenius_norm(m, (1,), True).tolist() == [[3], [4]]


def test_nonzero_of_a_known_size():
    x = pyburn.tensor([[0, 1], [2, 0]])
    assert pyburn.nonzero_static(x, size=1).tolist() == [[0, 1]]
    assert pyburn.nonzero_static(x, size=3, fill_value=7).tolist() == [[0, 1], [1, 0], [7, 7]]
    out = pyburn.empty(0, dtype=pyburn.int64)
    assert pyburn.nonzero(x, out=out) is out and out.tolist() == [[0, 1], [1, 0]]


def test_histogramdd():
    points = pyburn.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    counts, edges = pyburn.histogramdd(points, [3, 3], weight=pyburn.tensor([1.0, 2.0, 4.0, 8.0]))
    assert counts.tolist() == [[0, 1, 0], [2, 0, 0], [4, 0, 8]] and edges[0].tolist() == pytest.approx([0, 2 / 3, 4 / 3, 2])
    counts, _ = pyburn.histogramdd(points, [pyburn.tensor([0.0, 1.0]), pyburn.tensor([0.0, 0.5, 1.0])])
    assert counts.tolist() == [[1, 1]]
    share, _ = pyburn.histogramdd(points, 2, range=(0.0, 4.0, 0.0, 4.0), density=True)
    assert share.sum().item() * 4 == pytest.approx(1)
    with pytest.raises(ValueError, match="each of 2"):
        pyburn.histogramdd(points, [2])


def test_an_empty_out_takes_the_shape_of_the_result():
    for out in (pyburn.empty(0), pyburn.empty(0, 3)):
        assert pyburn.add(pyburn.ones(2, 2), 1, out=out) is out and out.tolist() == [[2, 2], [2, 2]]
    total = pyburn.empty(0, dtype=pyburn.float64)  # of another dtype
    assert pyburn.sum(pyburn.ones(3), out=total).tolist() == 3 and total.dtype is pyburn.float64
    values, indices = pyburn.empty(0), pyburn.empty(0, dtype=pyburn.int64)
    pyburn.sort(pyburn.tensor([2.0, 1.0]), out=(values, indices))
    assert (values.tolist(), indices.tolist()) == ([1, 2], [1, 0])
    quantile = pyburn.empty(0)  # a composite
    assert pyburn.quantile(pyburn.arange(5.0), 0.5, out=quantile).tolist() == 2
    larger = pyburn.empty(3)
    with pytest.warns(UserWarning, match="resized"):
        pyburn.add(pyburn.ones(2), 1, out=larger)
    assert larger.tolist() == [2, 2]
    with pytest.warns(UserWarning, match="resized"):
        assert pyburn.quantile(pyburn.arange(5.0), 0.5, out=larger).tolist() == 2
    with pytest.raises(RuntimeError, match="another shape"):
        pyburn.empty(0, 1).add_(pyburn.ones(2, 1, 1))  # in place: the shape stays


def test_functions_without_a_form_of_their_own_take_out():
    numbers = pyburn.empty(0, dtype=pyburn.int64)
    assert pyburn.zeros(2, out=numbers) is numbers and numbers.tolist() == [0, 0] and numbers.dtype is pyburn.int64
    corner = pyburn.zeros(2, 3)
    pyburn.arange(4, out=corner[:, 1:])
    assert corner.tolist() == [[0, 0, 1], [0, 2, 3]]
    copied = pyburn.empty(0)
    assert pyburn.nn.functional.avg_pool2d(pyburn.ones(1, 2, 2), 2, out=copied).tolist() == [[[1]]]
    assert pyburn.nonzero(pyburn.tensor([0, 3]), out=pyburn.empty(0, dtype=pyburn.int64)).tolist() == [[1]]


def test_arguments_that_mean_nothing_are_taken():
    assert pyburn.zeros(2, layout=pyburn.strided, pin_memory=True).tolist() == [0, 0]
    assert pyburn.randint(0, 5, (2,), layout=None).shape == (2,)
    with pytest.raises(TypeError, match="layout"):
        pyburn.zeros(2, layout="sparse")


def test_sizes_may_be_tensors_and_numpy_numbers():
    np = pytest.importorskip("numpy")
    assert pyburn.ones(pyburn.tensor(3)).shape == (3,) and pyburn.zeros(np.int64(2)).shape == (2,)
    assert pyburn.randint(0, 2, (pyburn.tensor(2), pyburn.tensor(3))).shape == (2, 3)


def test_dtypes_are_not_complex():
    assert not pyburn.float32.is_complex


def test_random_numbers_like_others():
    x = pyburn.ones(3, dtype=pyburn.float64)
    a = pyburn.rand_like(x, generator=pyburn.Generator().manual_seed(1), device="cpu")
    b = pyburn.rand_like(x, generator=pyburn.Generator().manual_seed(1))
    assert pyburn.equal(a, b) and a.dtype is pyburn.float64
    assert pyburn.randint_like(x, 3, device="cpu").shape == (3,)
    with pytest.raises(ValueError, match="below 0"):
        pyburn.multinomial(pyburn.tensor([1.0, -1.0]), 1)
    with pytest.raises(ValueError, match="positive sum"):
        pyburn.multinomial(pyburn.zeros(2), 1)


def test_positions_of_extrema_in_no_lines() -> None:
    assert pyburn.ones(3, 0).min(0).indices.tolist() == pyburn.ones(3, 0).argmax(0).tolist() == []


def test_bytes_of_other_data_as_bool() -> None:
    assert pyburn.tensor([0, 224], dtype=pyburn.uint8).view(pyburn.bool).tolist() == [False, True]


def test_batches_of_empty_matrices_take_no_time() -> None:
    for function in (pyburn.linalg.lu_factor, pyburn.linalg.qr, pyburn.linalg.svd):
        assert function(pyburn.empty(2**40, 0, 0))[0].shape[0] == 2**40


def test_views_of_scalars_and_of_strided_vectors() -> None:
    assert pyburn.tensor(2.0).mT.item() == 2.0
    column = pyburn.arange(6.0).reshape(3, 2)[:, 0]
    assert column.ravel().stride() == (1,) and column.flatten().stride() == (2,)
