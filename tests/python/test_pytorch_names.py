"""Names and import paths that code written for PyTorch uses in passing."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys

import pytest

import pyburn
from pyburn import nn


def test_numbers_and_types():
    assert (pyburn.pi, pyburn.e, pyburn.inf) == (math.pi, math.e, math.inf) and math.isnan(pyburn.nan) and pyburn.newaxis is None
    assert isinstance(pyburn.float32, pyburn.dtype)
    assert isinstance(pyburn.ones(1), pyburn.autograd.Variable)
    assert not pyburn.ones(1).is_xpu and not pyburn.ones(1).is_sparse
    assert not pyburn.ones(1).is_cuda and not pyburn.cuda.is_available() and pyburn.cuda.device_count() == 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pyburn.nothing  # noqa: B018


def test_they_are_loaded_when_asked_for():
    program = "import sys, pyburn; assert 'pyburn.composites' not in sys.modules; pyburn.pi; assert 'pyburn.composites' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_decorators_of_jit_change_nothing():
    @pyburn.jit.script
    def twice(x):
        return 2 * x

    @pyburn.jit.ignore(drop=True)
    def thrice(x):
        return 3 * x

    assert (twice(2), thrice(2), pyburn.jit.annotate(int, 1)) == (4, 6, 1)
    assert not pyburn.jit.is_scripting() and not pyburn.jit.is_tracing()


@pytest.mark.parametrize(
    ("place", "name", "member", "other"),
    [
        ("batchnorm", "_BatchNorm", nn.BatchNorm2d(2), nn.InstanceNorm2d(2)),
        ("batchnorm", "_NormBase", nn.InstanceNorm1d(2), nn.LayerNorm(2)),
        ("instancenorm", "_InstanceNorm", nn.InstanceNorm1d(2), nn.BatchNorm1d(2)),
        ("conv", "_ConvNd", nn.ConvTranspose1d(1, 1, 1), nn.Linear(1, 1)),
        ("conv", "_ConvTransposeNd", nn.ConvTranspose3d(1, 1, 1), nn.Conv3d(1, 1, 1)),
        ("dropout", "_DropoutNd", nn.Dropout2d(), nn.ReLU()),
        ("pooling", "_AvgPoolNd", nn.AvgPool2d(2), nn.MaxPool2d(2)),
        ("loss", "_Loss", nn.MSELoss(), nn.ReLU()),
        ("rnn", "RNNBase", nn.LSTM(1, 1), nn.LSTMCell(1, 1)),
        ("rnn", "RNNCellBase", nn.GRUCell(1, 1), nn.GRU(1, 1)),
        ("linear", "NonDynamicallyQuantizableLinear", nn.MultiheadAttention(1, 1).out_proj, nn.Linear(1, 1)),
    ],
)
def test_what_is_behind_layers(place, name, member, other):
    cls = getattr(importlib.import_module(f"pyburn.nn.modules.{place}"), name)
    assert isinstance(member, cls) and issubclass(type(member), cls)
    assert not isinstance(other, cls)


def test_import_paths_hold_the_layers():
    from pyburn.nn.modules.linear import Linear

    assert Linear is nn.Linear and nn.modules.Conv2d is nn.Conv2d


def test_rnn_base_has_weights_and_options():
    base = nn.RNNBase("LSTM", 3, 2, 2)
    assert repr(base) == "RNNBase(3, 2, num_layers=2)" and base.state_dict().keys() == nn.LSTM(3, 2, 2).state_dict().keys()
    assert nn.RNNBase("RNN_RELU", 3, 2, bias=False).mode == "RNN_RELU" and nn.RNNBase("GRU", 3, 2).hidden_size == 2

    class Mine(nn.RNNBase):
        def __init__(self):
            super().__init__("GRU", 3, 2)

        def forward(self, x):
            return nn.GRU.forward(self, x)[0]

    assert Mine()(pyburn.ones(5, 1, 3)).shape == (5, 1, 2) and isinstance(Mine(), nn.RNNBase)
    with pytest.raises(ValueError, match="proj_size"):
        nn.RNNBase("GRU", 3, 2, proj_size=1)
    with pytest.raises(ValueError, match="Unrecognized RNN mode"):
        nn.RNNBase("SRU", 3, 2)


@pytest.mark.parametrize("name", ["relu", "GELU", "leaky_relu", "hard_swish", "SiLU", "identity", "thresholded_relu", "p_relu"])
def test_activations_by_name(name):
    assert nn.Activation(name)(pyburn.ones(3)).shape == (3,)


def test_layers_by_name():
    assert repr(nn.Activation("leaky_relu", negative_slope=0.5)) == "LeakyReLU(negative_slope=0.5)"
    assert nn.Activation("gelu_approximate").approximate == "tanh"
    assert isinstance(nn.Normalization("batch", 4, dims=3), nn.BatchNorm3d)
    assert nn.Normalization("group", 4, num_groups=2).num_groups == 2
    assert isinstance(nn.Normalization("RmsNorm", 4), nn.RMSNorm) and isinstance(nn.Normalization("identity", 4), nn.Identity)
    with pytest.raises(ValueError, match="unknown activation 'tanhh'"):
        nn.Activation("tanhh")
    with pytest.raises(ValueError, match="unknown normalisation"):
        nn.Normalization("weight", 4)
    with pytest.raises(ValueError, match="unknown activation"):
        nn.PositionWiseFeedForward(2, 2, activation="tanhh")


def test_masks_of_burn():
    later = nn.attention.generate_autoregressive_mask(2, 3)
    assert later.shape == (2, 3, 3) and later[1].tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    padded, mask = nn.attention.generate_padding_mask(0, [[5, 6, 7], [8], []], 2)
    assert padded.tolist() == [[5, 6], [8, 0], [0, 0]] and mask.tolist() == [[False, False], [False, True], [True, True]]
    assert nn.attention.generate_padding_mask(9, [[5]], 3, fixed=True)[0].tolist() == [[5, 9, 9]]


def test_cross_attention_keeps_its_context():
    attention = nn.CrossAttention(6, 4, 4, 2, 3, dropout=0.0)
    query, context, cache = pyburn.randn(2, 3, 6), pyburn.randn(2, 5, 4), nn.AttentionCache()
    expected = attention(query, context)
    rows = [attention.forward_cached(query[:, i : i + 1], context, cache) for i in range(3)]
    assert pyburn.allclose(pyburn.cat(rows, 1), expected, atol=1e-6) and len(cache) == 5
    with pytest.raises(ValueError, match="divisible"):
        nn.CrossAttention(6, 4, 3, 2, 3)
    with pytest.raises(RuntimeError, match="mask"):
        attention(query, context, pyburn.zeros(2, 4, dtype=pyburn.bool))


def test_adaptive_pools_keep_extents():
    x = pyburn.randn(1, 2, 4, 6)
    assert nn.functional.adaptive_avg_pool2d(x, (None, 3)).shape == (1, 2, 4, 3)
    assert nn.functional.adaptive_max_pool2d(x, (2, None)).shape == (1, 2, 2, 6)


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
    with pytest.raises(RuntimeError, match="does not fit"):
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
    with pytest.raises(ValueError, match="above 0"):
        pyburn.multinomial(pyburn.zeros(2), 1)
