"""Layers and modules: input checks, names, state, saving."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import weakref
from typing import Any

import pytest

import pyburn
import pyburn.compat
import pyburn.nn.functional as F
from pyburn import nn
from pyburn.nn.utils import parametrizations, parametrize


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
    with pytest.raises(RuntimeError, match="negative padding exceeds"):
        F.pad(pyburn.zeros(1, 1, 4), (-3, -2), mode="circular")
    with pytest.raises(RuntimeError, match="Expected 3D or 4D"):
        F.unfold(pyburn.zeros(3, 0, 3, 4), 2)


def test_lazy_weights_cannot_be_normalised() -> None:
    for normalise in (nn.utils.weight_norm, nn.utils.spectral_norm):
        with pytest.raises(ValueError, match="uninitialized parameters"):
            normalise(nn.LazyLinear(3))


def test_nothing_cannot_be_packed() -> None:
    with pytest.raises(RuntimeError, match="empty tensor"):
        nn.utils.rnn.pack_padded_sequence(pyburn.zeros(0, 0), [])


def test_a_pruned_model_can_be_saved(torch: Any, tmp_path: Any) -> None:
    model = nn.Sequential(nn.Linear(4, 3))
    nn.utils.prune.l1_unstructured(model[0], "weight", 0.5)
    torch.save(model, tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt", weights_only=False)
    x = pyburn.ones(2, 4)
    assert pyburn.equal(loaded(x), model(x)) and set(loaded.state_dict()) == set(model.state_dict())


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


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.parametrizations.weight_norm])
def test_weight_norm_of_nothing(norm: Any) -> None:
    layer = norm(nn.Linear(0, 1))
    layer(pyburn.zeros(1, 0)).sum().backward()
    gradients = {name: p.grad.tolist() for name, p in layer.named_parameters()}
    assert sorted(gradients.values(), key=str) == [[1.0], [[0.0]], [[]]]


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


def test_weight_norm_can_be_pickled():
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    again = pickle.loads(pickle.dumps(layer))
    assert pyburn.equal(again.weight, layer.weight)
    older = nn.utils.weight_norm(nn.Linear(3, 2))
    again.load_state_dict(older.state_dict())
    assert pyburn.allclose(again.weight, older.weight)


def test_a_right_inverse_may_not_change_the_device():
    class Elsewhere(nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x.to("null")

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the device"):
        parametrize.register_parametrization(layer, "weight", Elsewhere())
    assert not parametrize.is_parametrized(layer)


def test_loading_into_a_number_and_into_nothing():
    class Threshold(nn.Module):
        def __init__(self):
            super().__init__()
            self.threshold = nn.Parameter(pyburn.tensor(0.0))

    module = Threshold()
    with pytest.raises(RuntimeError, match="size mismatch for threshold"):
        module.load_state_dict({"threshold": pyburn.randn(3)})
    module.load_state_dict({"threshold": pyburn.tensor([2.0])})
    assert module.threshold.item() == 2.0
    empty = Threshold().to("null")
    with pytest.warns(UserWarning, match="for threshold: copying from a non-meta parameter"):
        empty.load_state_dict(module.state_dict())
    empty.load_state_dict(module.state_dict(), assign=True)
    assert empty.threshold.item() == 2.0


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
