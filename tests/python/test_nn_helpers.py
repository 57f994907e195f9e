"""Lazy modules, classes that change, initialisers and utils, where PyTorch's answers cannot be recorded or do not matter."""

from __future__ import annotations

import copy
import doctest
import gc
import importlib
import math
import pickle

import pytest

import pyburn
from pyburn import nn
from pyburn.nn.utils import parametrizations, parametrize


class LazyLinear(nn.LazyModuleMixin, nn.Linear):
    cls_to_become = nn.Linear

    def __init__(self, out_features):
        super().__init__(0, 0)
        self.weight = nn.UninitializedParameter()
        self.bias = nn.UninitializedParameter()
        self.out_features = out_features

    def initialize_parameters(self, x):
        if self.has_uninitialized_params():
            self.in_features = x.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            self.bias.materialize((self.out_features,))
            self.reset_parameters()


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


# ---- lazy modules and classes that change


@pytest.mark.parametrize(
    "duplicate", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["same", "deepcopy", "pickle"]
)
def test_a_lazy_layer_becomes_a_layer_of_cpp(duplicate):
    layer = duplicate(LazyLinear(3))
    net = nn.Sequential(layer, nn.ReLU())
    assert [p.requires_grad for p in net.parameters()] == [True, True]
    assert net(pyburn.ones(2, 5)).shape == (2, 3)
    assert type(layer) is nn.Linear and layer.weight.shape == (3, 5) and layer.weight.abs().sum().item() > 0
    assert repr(net[0]) == "Linear(in_features=5, out_features=3, bias=True)"
    assert "_hooks" not in layer.__dict__
    net(pyburn.ones(2, 5)).sum().backward()
    assert layer.weight.grad.shape == (3, 5)


def test_a_lazy_layer_takes_shapes_from_a_state_dict_and_keeps_dtypes():
    layer = LazyLinear(3).double()
    layer.load_state_dict(nn.Linear(4, 3).state_dict())
    assert layer.weight.shape == (3, 4) and layer.weight.dtype is pyburn.float64
    layer(pyburn.ones(1, 4, dtype=pyburn.float64))
    assert type(layer) is nn.Linear


def test_lazy_buffers_of_a_layer_of_cpp():
    class LazyBatchNorm2d(nn.LazyModuleMixin, nn.BatchNorm2d):
        cls_to_become = nn.BatchNorm2d

        def __init__(self):
            super().__init__(0)
            self.weight, self.bias = nn.UninitializedParameter(), nn.UninitializedParameter()
            self.running_mean, self.running_var = nn.UninitializedBuffer(), nn.UninitializedBuffer()

        def initialize_parameters(self, x):
            self.num_features = x.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                tensor.materialize((self.num_features,))
            self.reset_parameters()

    layer = LazyBatchNorm2d()
    names = list(layer.state_dict())
    x = pyburn.randn(4, 3, 2, 2)
    assert pyburn.allclose(layer(x), nn.BatchNorm2d(3)(x)) and type(layer) is nn.BatchNorm2d
    assert type(layer.running_mean) is pyburn.Tensor and layer.running_mean.abs().sum().item() > 0
    assert list(layer.state_dict()) == names == list(nn.BatchNorm2d(3).state_dict())


def test_lazy_mistakes():
    class Forgets(nn.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    with pytest.raises(RuntimeError, match="module Forgets has not been fully initialized"):
        Forgets()(1)
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for"):
        type("Bare", (nn.LazyModuleMixin, nn.Module), {})()(1)
    with pytest.raises(RuntimeError, match="size mismatch|uninitialized"):
        nn.Linear(4, 3).load_state_dict(LazyLinear(3).state_dict())


def test_classes_may_change_around_the_same_layer():
    class Noisy(nn.Linear):
        def forward(self, x):
            return super().forward(x) + 1

    layer = nn.Linear(2, 2)
    x = pyburn.ones(1, 2)
    plain = layer(x)
    layer.__class__ = Noisy
    assert pyburn.allclose(nn.Sequential(layer)(x), plain + 1) and isinstance(layer, Noisy)
    layer.__class__ = nn.Linear
    assert pyburn.equal(nn.Sequential(layer)(x), plain)
    layer.__class__ = nn.Module
    layer.__class__ = nn.Linear
    for wrong in (nn.ReLU, int, 3):
        with pytest.raises(TypeError, match="__class__|layout"):
            layer.__class__ = wrong
    for _ in range(200):
        layer = nn.Linear(1, 1)
        layer.__class__ = Noisy
    del layer
    gc.collect()


def test_own_state_methods_keep_the_registry():
    class Trimmed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)
            self.cache = "large"

        def __getstate__(self):
            state = self.__dict__.copy()
            del state["cache"]
            return state

        def __setstate__(self, state):
            self.__dict__.update(state)
            self.cache = "fresh"

    a = Trimmed().eval()
    for b in (copy.deepcopy(a), pickle.loads(pickle.dumps(_register_globally(Trimmed, a)))):
        assert b.cache == "fresh" and pyburn.equal(b.layer.weight, a.layer.weight) and not b.training


def _register_globally(cls, module):
    cls.__qualname__ = cls.__name__
    globals()[cls.__name__] = cls
    return module


def test_wrappers_that_pass_attributes_on():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.module = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    assert Wrapper(nn.Linear(2, 3)).in_features == 2
    with pytest.raises(AttributeError, match="Linear' object has no attribute 'nothing'"):
        _ = Wrapper(nn.Linear(2, 3)).nothing


@pytest.mark.parametrize("device", ["ndarray", "autodiff(fusion(ndarray))", pyburn.BackendKind.NDARRAY, pyburn.device("autodiff(numpy)")])
def test_setting_the_backend_moves_a_module(device):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm2d(2))
    net[0].weight.grad = pyburn.ones(2, 2)
    held = net[0].weight
    net.backend = device
    assert {t.device for t in [*net.parameters(), *net.buffers()]} == {net.backend}
    assert net[0].weight is held and held.grad.device == net.backend
    assert nn.ReLU().backend is None


def test_the_registry_as_dicts():
    m = nn.Linear(2, 2)
    m._parameters["weight"] = nn.Parameter(pyburn.ones(2, 2))
    assert m.weight.sum().item() == 4
    del m._parameters["bias"]
    assert not hasattr(m, "bias") and len(m._parameters) == 1 and "weight" in m._parameters
    with pytest.raises(KeyError):
        del m._parameters["bias"]
    with pytest.raises(TypeError, match="cannot assign 'int'"):
        m._buffers["b"] = 3
    with pytest.raises(TypeError, match="is not a Module subclass"):
        m._modules["b"] = pyburn.ones(1)
    with pytest.raises(ValueError, match="kind"):
        m._pb_put("b", 7, 3, True)


CONTAINERS = [
    lambda: nn.ModuleList([nn.Linear(1, 2), nn.ReLU()]),
    lambda: nn.ModuleDict({"b": nn.Linear(1, 2), "a": nn.Sequential(nn.ReLU())}),
    lambda: nn.ParameterList([pyburn.ones(2), 3, pyburn.zeros(1)]),
    lambda: nn.ParameterDict({"b": pyburn.ones(2), "a": pyburn.zeros(1)}),
    lambda: nn.Sequential(nn.Linear(1, 2), nn.ModuleList([nn.ParameterList([pyburn.ones(1)])])),
]


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "deepcopy", "pickle"]
)
def test_copies_of_containers(make, duplicate):
    original = make().eval()
    other = duplicate(original)
    assert type(other) is type(original) and repr(other) == repr(original) and len(other) == len(original) and not other.training
    assert list(other.state_dict()) == list(original.state_dict())
    shared = [a is b for a, b in zip(original.parameters(), other.parameters())]
    assert shared == [duplicate is copy.copy] * len(shared) and shared
    assert all(pyburn.equal(a, b) for a, b in zip(original.parameters(), other.parameters()))


def test_parameters_travel():
    weight = nn.Parameter(pyburn.ones(2), requires_grad=False)
    weight.note = "kept"
    for other in (copy.deepcopy(weight), pickle.loads(pickle.dumps(weight))):
        assert type(other) is nn.Parameter and not other.requires_grad and other.note == "kept" and pyburn.equal(other, weight)
    lazy = nn.UninitializedParameter(dtype=pyburn.float64)
    for other in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        other.materialize((2,))
        assert type(other) is nn.Parameter and other.dtype is pyburn.float64 and other.requires_grad
    assert repr(lazy) == "<UninitializedParameter>"


# ---- initialisers


@pytest.mark.parametrize(
    ("fill", "deviation"),
    [
        (lambda t, g: nn.init.uniform_(t, -1, 3, generator=g), 4 / math.sqrt(12)),
        (lambda t, g: nn.init.normal_(t, 1.0, 0.3, generator=g), 0.3),
        (lambda t, g: nn.init.trunc_normal_(t, 0.0, 1.0, -2.0, 2.0, generator=g), 0.8796),
        (lambda t, g: nn.init.trunc_normal_(t, 0.0, 2.0, -2.0, 2.0, generator=g), 1.0795),
        (lambda t, g: nn.init.trunc_normal_(t, 0.1, 0.02, -2.0, 2.0, generator=g), 0.02),
        (lambda t, g: nn.init.xavier_uniform_(t, 2.0, generator=g), 2 * math.sqrt(2 / 500)),
        (lambda t, g: nn.init.xavier_normal_(t, generator=g), math.sqrt(2 / 500)),
        (lambda t, g: nn.init.kaiming_uniform_(t, math.sqrt(5), generator=g), math.sqrt(1 / 3 / 300)),
        (lambda t, g: nn.init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu", generator=g), math.sqrt(2 / 200)),
        (lambda t, g: nn.init.kaiming_normal_(t, nonlinearity="tanh", generator=g), 5 / 3 / math.sqrt(300)),
        (lambda t, g: nn.init.orthogonal_(t, 3.0, generator=g), 3 / math.sqrt(300)),
        (lambda t, g: nn.init.sparse_(t, 0.5, 0.2, generator=g), 0.2 * math.sqrt(0.5)),
    ],
)
def test_random_initialisers(fill, deviation):
    made = []
    for seed in (1, 1, 2):
        weight = nn.Parameter(pyburn.empty(200, 300))
        state = pyburn.get_rng_state()
        assert fill(weight, pyburn.Generator().manual_seed(seed)) is weight and weight.grad_fn is None
        assert pyburn.get_rng_state() == state
        made.append(weight)
    assert pyburn.equal(made[0], made[1]) and not pyburn.equal(made[0], made[2])
    assert made[0].std().item() == pytest.approx(deviation, rel=0.03)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (2, 3, 4), (1, 1), (0, 3)])
@pytest.mark.parametrize("dtype", [pyburn.float32, pyburn.float64])
def test_orthogonal_rows_or_columns(shape, dtype):
    w = nn.init.orthogonal_(pyburn.empty(*shape, dtype=dtype), gain=2.0).flatten(1)
    square = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    assert pyburn.allclose(square, 4 * pyburn.eye(square.shape[0], dtype=dtype), atol=1e-5)


def test_old_names_of_initialisers_warn():
    with pytest.warns(FutureWarning, match=r"`nn.init.xavier_uniform` is now deprecated in favor of `nn.init.xavier_uniform_`"):
        nn.init.xavier_uniform(pyburn.empty(2, 2))


def test_skip_init():
    layer = nn.utils.skip_init(nn.Linear, 300, 2, bias=False)
    assert layer.weight.abs().sum().item() == 0 and layer.bias is None
    assert nn.Linear(300, 2).weight.abs().sum().item() > 0
    for wrong in (3, int):
        with pytest.raises(RuntimeError, match="Expected a Module; got"):
            nn.utils.skip_init(wrong)
    with pytest.raises(TypeError):
        nn.utils.skip_init(nn.Linear)
    assert nn.Linear(300, 2).weight.abs().sum().item() > 0


# ---- parametrizations


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_of_parametrized_modules(duplicate):
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    other = duplicate(layer)
    x = pyburn.ones(1, 3)
    assert pyburn.equal(other(x), layer(x)) and type(other) is not type(layer)
    parametrize.remove_parametrizations(other, "weight")
    assert type(other) is nn.Linear and parametrize.is_parametrized(layer)
    assert pyburn.equal(other(x), layer(x))


def test_a_parametrized_layer_trains():
    layer = parametrizations.orthogonal(nn.Linear(4, 3))
    optimizer = pyburn.optim.SGD(layer.parameters(), lr=0.1)
    x, target = pyburn.randn(8, 4), pyburn.randn(8, 3)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (layer(x) - target).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert pyburn.allclose(layer.weight @ layer.weight.T, pyburn.eye(3), atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 4, 3)])
@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
def test_assigning_an_orthogonal_weight(name, shape):
    module = nn.Module()
    module.weight = nn.Parameter(pyburn.randn(*shape, dtype=pyburn.float64))
    parametrizations.orthogonal(module, orthogonal_map=name)
    wide = shape[-2] < shape[-1]
    drawn = pyburn.randn(*shape, dtype=pyburn.float64)
    tall, _ = pyburn.linalg.qr(drawn.mT if wide else drawn)
    value = tall.mT if wide else tall
    module.weight = value
    assert pyburn.allclose(module.weight, value, atol=1e-9)


def test_moving_parametrizations():
    source = parametrizations.weight_norm(nn.Linear(3, 2))
    target = parametrize.transfer_parametrizations_and_params(source, nn.Linear(3, 2))
    assert pyburn.equal(source.weight, target.weight) and parametrize.is_parametrized(target, "weight")


def test_weights_under_the_old_hooks_are_used_by_layers_of_cpp():
    layer = nn.utils.weight_norm(nn.Linear(2, 2))
    layer.weight_g.data.fill_(0.0)
    assert pyburn.equal(nn.Sequential(layer)(pyburn.ones(1, 2))[0], layer.bias)


# ---- calls with other parameters


def test_functional_call_restores_after_an_error_and_updates_given_buffers():
    bn = nn.BatchNorm2d(2)
    mean = pyburn.zeros(2)
    pyburn.func.functional_call(bn, {"running_mean": mean}, (pyburn.ones(2, 2, 2, 2),))
    assert mean.tolist() == pytest.approx([0.1, 0.1]) and bn.running_mean.tolist() == [0, 0]
    layer = nn.Linear(2, 2)
    held = layer.weight
    with pytest.raises(RuntimeError):
        pyburn.func.functional_call(layer, {"weight": pyburn.ones(2, 2)}, (pyburn.ones(3),))
    assert layer.weight is held and isinstance(layer.weight, nn.Parameter) and list(layer._parameters) == ["weight", "bias"]
    with pytest.raises(AttributeError, match="Linear has no attribute `w`"):
        pyburn.func.functional_call(layer, {"w.x": pyburn.ones(1)}, (pyburn.ones(2),))
    with pytest.raises(TypeError, match="in_features: expected a parameter or buffer, got int"):
        pyburn.func.functional_call(layer, {"in_features": pyburn.ones(1)}, (pyburn.ones(2),))
    with pytest.raises(TypeError, match="expected a Module"):
        pyburn.func.functional_call(3, {}, ())


def test_functional_call_of_tied_weights():
    net = nn.Module()
    net.a = nn.Linear(1, 1, bias=False)
    net.b = net.a
    net.forward = lambda x: net.a(x) + net.b(x)
    one, two = pyburn.ones(1, 1), pyburn.full((1, 1), 2.0)
    assert pyburn.func.functional_call(net, {"a.weight": two}, (one,)).item() == 4
    with pytest.raises(ValueError, match="tied"):
        pyburn.func.functional_call(net, {"a.weight": two, "b.weight": one}, (one,))


def test_clipping_on_nothing_warns():
    with pytest.warns(UserWarning, match="empty generator"):
        assert nn.utils.clip_grad_norm_([], 1.0).item() == 0
    layer = nn.Linear(1, 1)
    assert nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item() == 0


# ---- documentation

HERE = "attention init hooks hook_methods module_state module_methods lazy parallel parameter parameter_containers summary geometric.edges"
UTILS = (
    "rnn stateless parametrize parametrizations weight_norm spectral_norm fusion init clip_grad convert_parameters pruning pruning_methods"
)
MODULES = ["pyburn.nn." + name for name in HERE.split()] + ["pyburn.nn.utils." + name for name in UTILS.split()]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name):
    result = doctest.testmod(importlib.import_module(name), extraglobs={"pyburn": pyburn})
    assert result.failed == 0 and result.attempted > 0


def test_public_names_have_examples():
    methods = [(f"Module.{n}", getattr(nn.Module, n)) for n in dir(nn.Module) if not n.startswith("_")]
    public = [(f"{m.__name__}.{n}", getattr(m, n)) for m in (nn.init, nn.utils, pyburn.module) for n in m.__all__]
    public += [(f"rnn.{n}", getattr(nn.utils.rnn, n)) for n in nn.utils.rnn.__all__]
    without = [name for name, value in methods + public if callable(value) and not value.__doc__]
    assert without == []


@pytest.mark.parametrize("sizes", [[1, 1], [1, 2], [3, 1], [-1], [2, 0, 1]])
def test_packed_sequences_whose_sizes_are_wrong(sizes):
    packed = nn.utils.rnn.PackedSequence(pyburn.ones(3, 2), pyburn.tensor(sizes))
    with pytest.raises(ValueError, match="batch_sizes"):
        nn.utils.rnn.pad_packed_sequence(packed)


def test_helpers_refuse_tensors_of_too_few_axes():
    layer = parametrizations.orthogonal(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="matrix"):
        layer.parametrizations.weight[0](pyburn.ones(4))
    one = pyburn.ones(1)
    with pytest.raises(IndexError):
        nn.utils.fuse_conv_bn_weights(one, None, one, one, 0.0, one, one, transpose=True)
