"""What PyTorch's module database and its test files for modules showed to be different."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import math
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import pyburn
import pyburn.nn.functional as F
from pyburn import nn


def derivatives(function: Any, x: list[float]) -> tuple[list[float], list[float]]:
    p = pyburn.tensor(x, dtype=pyburn.float64, requires_grad=True)
    (first,) = pyburn.autograd.grad(function(p).sum(), p, create_graph=True)
    (second,) = pyburn.autograd.grad(first.sum(), p)
    return first.tolist(), second.tolist()


def test_the_gradient_of_relu_passes_where_its_input_is_nan() -> None:
    x = pyburn.tensor([math.nan, -1.0, 0.0, 2.0], requires_grad=True)
    F.relu(x).sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("function", [F.elu, F.celu, F.selu])
def test_second_derivatives_of_exponential_units(function: Any) -> None:
    first, second = derivatives(function, [-1.0, 0.0, 1.0, 1000.0])
    scale = first[2]  # of the line
    assert second[0] == pytest.approx(first[0]) and second[1:] == [0, 0, 0]  # at 0 that of the line, and nothing overflows
    assert first[3] == scale


def test_bytes_wrap_around_in_margin_ranking_loss() -> None:
    a, b, target = (pyburn.tensor(v, dtype=pyburn.uint8) for v in ([3, 9], [5, 2], [1, 2]))
    assert F.margin_ranking_loss(a, b, target, reduction="none").tolist() == [2, 242]


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 4, 0)])
def test_group_norm_wants_something_in_each_group(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match="greater than 0"):
        F.group_norm(pyburn.zeros(shape), 1)


def test_batch_norm_refuses_a_negative_eps() -> None:
    layer = nn.BatchNorm1d(3, eps=-1.0)
    for training, word in ((True, "positive"), (False, "non-negative")):
        with pytest.raises(ValueError, match=f"eps must be {word}"):
            layer.train(training)(pyburn.ones(4, 3))
    assert F.batch_norm(pyburn.ones(4, 3), pyburn.zeros(3), pyburn.ones(3), eps=0.0).tolist() == [[1, 1, 1]] * 4


@pytest.mark.parametrize("dtype", [pyburn.float16, pyburn.bfloat16])
def test_halves_are_normalised_with_parameters_of_float32(dtype: Any) -> None:
    pyburn.manual_seed(0)
    x = pyburn.randn(4, 6, 5).to(dtype).requires_grad_()
    w, b = pyburn.randn(6, requires_grad=True), pyburn.randn(6)
    mean, var = pyburn.randn(6), pyburn.rand(6) + 0.5
    norms = [
        lambda t: F.batch_norm(t, mean.clone(), var.clone(), w, b, training=True),
        lambda t: F.batch_norm(t, mean, var, w, b),
        lambda t: F.group_norm(t, 3, w, b),
        lambda t: F.instance_norm(t, mean.clone(), var.clone(), w, b),
        lambda t: F.layer_norm(t.transpose(1, 2), (6,), w, b),
    ]
    for norm in norms:
        y, expected = norm(x), norm(x.float())
        assert y.dtype == dtype and pyburn.equal(y, expected.to(dtype))
        got = pyburn.autograd.grad(y.float().square().sum(), (x, w))
        wanted = pyburn.autograd.grad(expected.square().sum(), (x, w))
        assert got[0].dtype == dtype and got[1].dtype == pyburn.float32
        assert all(pyburn.allclose(g.float(), v.float(), rtol=0.05, atol=0.05) for g, v in zip(got, wanted))


def test_losses_look_at_the_values_of_their_inputs() -> None:
    one = pyburn.ones(2)
    for loss in (F.gaussian_nll_loss, nn.GaussianNLLLoss()):
        with pytest.raises(ValueError, match="var has negative entry"):
            loss(one, one, pyburn.tensor([1.0, -1.0]))
    for p in ([0.5, 1.5], [-0.1, 0.5], [math.nan, 0.5]):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            nn.BCELoss()(pyburn.tensor(p), one)
    assert F.binary_cross_entropy(pyburn.tensor([0.0, 1.0]), pyburn.tensor([0.0, 1.0])).item() == 0


def test_losses_with_such_checks_can_be_captured() -> None:
    class Loss(nn.Module):
        def forward(self, p: Any, target: Any) -> Any:
            return F.binary_cross_entropy(p, target) + F.gaussian_nll_loss(p, target, p)

    p, target = pyburn.tensor([0.25, 0.5]), pyburn.tensor([1.0, 0.0])
    assert pyburn.inference.compile(Loss(), p, target)(p, target).item() == pytest.approx(Loss()(p, target).item())


def test_bags_begin_with_the_input() -> None:
    weight, indices = pyburn.ones(5, 2), pyburn.tensor([0, 1, 2, 3])
    for offsets, place in (([1, 2], "0"), ([0, 5], "-1")):
        with pytest.raises(RuntimeError, match=rf"offsets\[{place}\]"):
            F.embedding_bag(indices, weight, pyburn.tensor(offsets))
    with pytest.raises(NotImplementedError, match="only supported for mode='sum'"):
        F.embedding_bag(indices, weight, pyburn.tensor([0]), mode="max", per_sample_weights=pyburn.ones(4))
    with pytest.raises(RuntimeError, match="padding_idx must be within the number of embeddings, -5 through 4"):
        F.embedding_bag(indices[None], weight, padding_idx=7)
    with pytest.raises(ValueError, match="input has to be 1D or 2D Tensor"):
        F.embedding_bag(indices[None, None], weight)


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


def test_the_last_layer_of_attention_has_pytorchs_name() -> None:
    layer = nn.MultiheadAttention(4, 2)
    assert repr(layer) == (
        "MultiheadAttention(\n  (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)\n)"
    )
    assert "NonDynamicallyQuantizableLinear" in repr(nn.TransformerDecoderLayer(4, 2))
    x = pyburn.ones(3, 1, 4)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert isinstance(other.out_proj, nn.Linear) and type(other.out_proj) is type(layer.out_proj)
        assert pyburn.equal(other(x, x, x)[0], layer(x, x, x)[0])
    cls = importlib.import_module("pyburn.nn.modules.linear").NonDynamicallyQuantizableLinear
    assert type(layer.out_proj) is cls and cls(2, 3)(pyburn.ones(2)).shape == (3,)
    assert not hasattr(nn, "NonDynamicallyQuantizableLinear")


def test_constants_are_attributes_of_layers() -> None:
    assert (nn.ReLU6().min_val, nn.ReLU6().max_val) == (0.0, 6.0)
    assert [layer(1).value for layer in (nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d)] == [0.0] * 3
    assert nn.RNN(2, 3).proj_size == 0 and nn.GRU(2, 3).proj_size == 0 and nn.LSTM(2, 3, proj_size=1).proj_size == 1
    assert nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1).use_nested_tensor is False
    kinds = {"relu": 1, "gelu": 2, F.gelu: 2, nn.ReLU(): 1, F.silu: 0}
    assert [nn.TransformerEncoderLayer(4, 2, activation=a).activation_relu_or_gelu for a in kinds] == list(kinds.values())


def test_names_of_parts_are_strings() -> None:
    module = nn.Module()
    for call, kind in ((module.register_buffer, "buffer"), (module.register_parameter, "parameter"), (module.add_module, "module")):
        with pytest.raises(TypeError, match=f"{kind} name should be a string. Got NoneType"):
            call(None, None)


def test_packed_sequences_without_steps() -> None:
    rnn = nn.utils.rnn
    nothing = rnn.PackedSequence(pyburn.randn(0, 5), pyburn.tensor([], dtype=pyburn.int64))
    for undo in (rnn.pad_packed_sequence, rnn.unpack_sequence):
        with pytest.raises(RuntimeError, match="non-empty"):
            undo(nothing)
    with pytest.raises(RuntimeError, match="empty tensor"):
        rnn.pack_padded_sequence(pyburn.randn(0, 1, 10), pyburn.randn(11, 14), True)


def test_a_layer_without_shapes_cannot_be_loaded_into_one_that_has_them() -> None:
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        nn.Linear(5, 10).load_state_dict(nn.LazyLinear(10).state_dict())
    lazy = nn.LazyLinear(10)
    lazy.load_state_dict(nn.LazyLinear(10).state_dict())
    assert lazy.has_uninitialized_params()


def test_options_of_linear_cross_entropy_are_a_dataclass() -> None:
    options = dataclasses.replace(nn.LinearCrossEntropyOptions(), acc_policy="compact")
    assert options.acc_policy == "compact" and options == nn.LinearCrossEntropyOptions(acc_policy="compact")
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.acc_policy = "auto"


def test_the_choice_of_attention_decorates() -> None:
    @nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH)
    def double(x: int) -> int:
        return 2 * x

    assert double(3) == 6


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


def test_a_second_backward_names_the_argument() -> None:
    y = pyburn.ones(2, requires_grad=True).exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


@pytest.mark.parametrize("dtype", [pyburn.float64, pyburn.float32, pyburn.float16, pyburn.bfloat16])
@pytest.mark.parametrize("keys", [3, 700])
def test_attention_passes_nan_on(dtype: Any, keys: int) -> None:
    q, k, v = (pyburn.randn(1, 1, n, 16).to(dtype) for n in (4, keys, keys))
    q[0, 0, 1, 3] = math.nan
    assert F.scaled_dot_product_attention(q, k, v).isnan().all(-1).tolist() == [[[False, True, False, False]]]
    for place in (0, keys - 1):
        spoiled = k.clone()
        spoiled[0, 0, place, 0] = math.nan
        assert F.scaled_dot_product_attention(q, spoiled, v).isnan().all()
    hidden = pyburn.zeros(4, keys, dtype=pyburn.bool)
    assert F.scaled_dot_product_attention(q, k, v, attn_mask=hidden).tolist() == pyburn.zeros_like(q).tolist()


def test_attention_without_features_is_a_mean() -> None:
    q, k, v = pyburn.zeros(1, 2, 3, 0), pyburn.zeros(1, 2, 5, 0), pyburn.randn(1, 2, 5, 4, requires_grad=True)
    g = pyburn.randn(1, 2, 3, 4)
    y = F.scaled_dot_product_attention(q.requires_grad_(), k.requires_grad_(), v)
    y.backward(g)
    assert pyburn.allclose(y, v.mean(2, keepdim=True).expand_as(y))
    assert pyburn.allclose(v.grad, (g.sum(2, keepdim=True) / 5).expand_as(v)) and q.grad.shape == q.shape


def test_norms_of_windows_without_a_bound() -> None:
    x = pyburn.tensor([[[1.0, -3.0, 2.0, 4.0]]])
    assert F.lp_pool1d(x, math.inf, 2, 1).tolist() == [[[3, 3, 4]]] and nn.LPPool1d(-math.inf, 2, 1)(x).tolist() == [[[1, 2, 2]]]
    for refused in (lambda: F.lp_pool1d(x, 0, 2), lambda: nn.LPPool1d(0, 2), lambda: nn.LPPool2d(0.0, 2), lambda: nn.LPPool3d(0, 2)):
        with pytest.raises(ValueError, match="norm_type must be a non-zero value"):
            refused()


def test_masks_and_offsets_of_the_wrong_shape() -> None:
    x = pyburn.ones(4, 4)
    with pytest.raises(AssertionError, match=r"Expected `attn_mask` shape to be \(4, 4, 4\)"):
        nn.MultiheadAttention(4, 4)(x, x, x, attn_mask=pyburn.ones(5, 4, 4))
    with pytest.raises(ValueError, match="offsets has to be a 1D Tensor"):
        F.embedding_bag(pyburn.tensor([0, 1]), x, pyburn.tensor([[0]]))
    with pytest.raises(AssertionError, match="padding_idx must be within num_embeddings"):
        nn.EmbeddingBag(5, 3, padding_idx=-7)
    for name, layer in (("RNN", nn.RNN), ("GRU", nn.GRU), ("LSTM", nn.LSTM)):
        with pytest.raises(ValueError, match="hidden_size must be greater than zero"):
            layer(10, 0)
        state = getattr(nn, f"{name}Cell")(10, 0)(pyburn.randn(3, 10))
        assert (state[0] if name == "LSTM" else state).shape == (3, 0)


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.parametrizations.weight_norm])
def test_weight_norm_of_nothing(norm: Any) -> None:
    layer = norm(nn.Linear(0, 1))
    layer(pyburn.zeros(1, 0)).sum().backward()
    gradients = {name: p.grad.tolist() for name, p in layer.named_parameters()}
    assert sorted(gradients.values(), key=str) == [[1.0], [[0.0]], [[]]]


def test_gradients_by_name() -> None:
    layer = nn.Linear(2, 1)
    x = pyburn.tensor([[2.0, 3.0]])
    by_name = pyburn.autograd.grad(layer(x).sum(), dict(layer.named_parameters()))
    assert {name: g.tolist() for name, g in by_name.items()} == {"weight": [[2, 3]], "bias": [1]}
    layer(x).sum().backward(inputs={"bias": layer.bias})
    assert layer.weight.grad is None and layer.bias.grad.tolist() == [1]
    with pytest.raises(TypeError, match="must be a dict"):
        pyburn.autograd.grad(layer(x).sum(), OrderedDict(layer.named_parameters()))
    for empty in ({}, []):
        with pytest.raises(RuntimeError, match="cannot be empty"):
            pyburn.autograd.grad(layer(x).sum(), empty)
        with pytest.raises(RuntimeError, match="cannot be empty"):
            pyburn.autograd.backward(layer(x).sum(), inputs=empty)


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


def test_a_variable_has_a_history_of_its_own(torch: Any) -> None:
    x = torch.ones(2)
    y = torch.autograd.Variable(x, requires_grad=True)
    assert y.requires_grad and not x.requires_grad and y.data_ptr() == x.data_ptr()
    assert not torch.autograd.Variable(y * 2).requires_grad


def test_a_gradient_is_a_tensor() -> None:
    x = pyburn.ones(2)
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        x.grad = 0
    with pytest.raises(RuntimeError, match="floating point"):
        pyburn.ones(2, dtype=pyburn.int64).requires_grad_()


def test_gradients_lie_in_memory_as_their_leaves_do_also_where_they_are_returned() -> None:
    x = pyburn.randn(2, 3, 4, 5).contiguous(memory_format=pyburn.channels_last).requires_grad_()
    for layer in (nn.Sigmoid(), nn.Tanhshrink(), nn.Conv2d(3, 2, 3)):
        for create_graph in (False, True):
            (g,) = pyburn.autograd.grad(layer(x).square().sum(), x, create_graph=create_graph)
            assert g.stride() == x.stride()
        assert pyburn.autograd.grad(g.sum(), x)[0].stride() == x.stride()
    cell = nn.GRUCell(3, 4)
    for g in pyburn.autograd.grad(cell(pyburn.randn(2, 3)).sum(), list(cell.parameters())):
        assert g.is_contiguous()


def test_options_that_are_no_numbers() -> None:
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class 'complex'>"):
        nn.HuberLoss(delta=1j)
    with pytest.raises(RuntimeError, match="Trying to create tensor with negative dimension"):
        nn.Embedding(-1, 3)


def test_a_gradient_stays_the_same_object_when_its_module_moves() -> None:
    layer = nn.Linear(2, 3)
    layer(pyburn.ones(1, 2)).sum().backward()
    weight, gradient = layer.weight, layer.weight.grad
    layer.double()
    assert layer.weight is weight and weight.grad is gradient and gradient.dtype == pyburn.float64
    version = gradient._version
    layer._apply(lambda t: t.add_(1))  # what is done in place is done to gradients, too
    assert gradient._version > version and gradient.tolist() == [[2, 2]] * 3
    flat = pyburn.ones(6)
    layer.weight.grad = flat.double().view(3, 2)  # a part of another tensor is replaced
    layer.float()
    assert layer.weight.grad.dtype == pyburn.float32


def test_losses_with_margins_have_no_gradient_at_nan() -> None:
    x = pyburn.tensor([float("nan"), 1.0], requires_grad=True)
    loss = F.margin_ranking_loss(x, pyburn.zeros(2), -pyburn.ones(2), reduction="none")
    (gradient,) = pyburn.autograd.grad(loss.sum(), x)
    assert loss.isnan().tolist() == [True, False] and gradient.tolist() == [0, 1]
