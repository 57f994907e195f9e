"""Modules: registration, printing, state, hooks, copies, and what the garbage collector sees of them."""

import copy
import gc
import json
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import nn

LAYERS = [
    lambda: nn.Linear(2, 3),
    lambda: nn.Conv2d(2, 3, 3),
    lambda: nn.BatchNorm2d(2),
    lambda: nn.ReLU(),
    lambda: nn.Flatten(),
    lambda: nn.Identity(),
    lambda: nn.Sequential(nn.Linear(2, 2)),
    lambda: nn.Module(),
]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 4)
        self.scale = nn.Parameter(pyburn.ones(4))
        self.register_buffer("mean", pyburn.zeros(4))
        self.register_buffer("cache", pyburn.zeros(1), persistent=False)
        self.depth = 3

    def forward(self, x):
        return self.first(x) * self.scale - self.mean


def equal(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.ne(b).sum().item() == 0


# ---- attributes


def test_attributes_register_themselves():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias"]
    assert [name for name, _ in net.named_buffers()] == ["mean", "cache"]
    assert [name for name, _ in net.named_modules()] == ["", "first"]
    assert list(net.state_dict()) == ["scale", "mean", "first.weight", "first.bias"]
    assert net.depth == 3 and net(pyburn.ones(5, 2)).shape == (5, 4)
    assert "scale" in dir(net)


def test_identity_and_attributes_of_parameters():
    net = Net()
    assert net.scale is net.scale and net.first is net.first and net.first.weight is net.first.weight
    assert isinstance(net.scale, nn.Parameter) and net.scale.requires_grad
    net.first.weight.note = "kept"
    gc.collect()
    assert net.first.weight.note == "kept" and next(net.first.parameters()) is net.first.weight


def test_assignment_moves_between_kinds():
    net = Net()
    net.depth = nn.Linear(1, 1)
    assert "depth" in dict(net.named_children()) and "depth" not in net.__dict__
    net.depth = nn.Parameter(pyburn.zeros(1))
    assert "depth" in dict(net.named_parameters()) and "depth" not in dict(net.named_children())
    del net.depth
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'depth'"):
        _ = net.depth
    net.scale = None
    assert net.scale is None and "scale" not in dict(net.named_parameters())
    net.mean = pyburn.ones(4)
    assert net.mean.sum().item() == 4 and "mean" in dict(net.named_buffers())


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda m: setattr(m, "weight", pyburn.zeros(1)), TypeError, "cannot assign 'pyburn.Tensor' as parameter 'weight'"),
        (lambda m: setattr(m, "weight", 3), TypeError, "cannot assign 'int' as parameter 'weight'"),
        (lambda m: setattr(m, "weight", nn.ReLU()), TypeError, "cannot assign 'pyburn.nn.ReLU' as parameter 'weight'"),
        (lambda m: m.register_parameter("a.b", None), KeyError, "parameter name can.*t contain"),
        (lambda m: m.register_parameter("", None), KeyError, "be empty string"),
        (lambda m: m.register_parameter("in_features", None), KeyError, "attribute 'in_features' already exists"),
        (lambda m: m.register_parameter(3, None), TypeError, "should be a string. Got int"),
        (lambda m: m.register_parameter("w", pyburn.zeros(2)), TypeError, "object to parameter 'w'"),
        (lambda m: m.register_buffer("w", 3), TypeError, "cannot assign 'int' object to buffer 'w'"),
        (lambda m: m.register_buffer("weight", None), KeyError, "already exists"),
        (lambda m: m.add_module("w", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.add_module("a.b", None), KeyError, 't contain ".", got: a.b'),
        (lambda m: m.get_parameter("foo"), AttributeError, "Linear has no attribute `foo`"),
        (lambda m: m.get_buffer("weight"), AttributeError, "`weight` is not a buffer"),
        (lambda m: m.get_submodule("weight"), AttributeError, "`weight` is not an nn.Module"),
        (lambda m: delattr(m, "foo"), AttributeError, "foo"),
        (lambda m: m.train("x"), ValueError, "expected to be boolean"),
        (lambda m: m.to(pyburn.int32), TypeError, "only accepts floating point"),
        (lambda m: m.to("nowhere"), RuntimeError, "nowhere"),
        (lambda m: nn.Sequential(3), TypeError, "int is not a Module subclass"),
        (lambda m: nn.Sequential(m)[1], IndexError, "index 1 is out of range"),
        (lambda m: nn.Module()(3), NotImplementedError, r'Module \[Module\] is missing the required "forward" function'),
        (lambda m: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (lambda m: nn.Conv2d(3, 4, 3, padding="x"), ValueError, "Invalid padding string 'x'"),
        (lambda m: nn.Parameter(pyburn.zeros(2, dtype=pyburn.int64)), RuntimeError, "floating"),
    ],
)
def test_mistakes(act, error, text):
    with pytest.raises(error, match=text):
        act(nn.Linear(2, 3))


def test_before_init():
    class Early(nn.Module):
        def __init__(self, value):
            self.x = value

    assert Early(3).x == 3
    with pytest.raises(AttributeError, match="cannot assign module before Module.__init__"):
        Early(nn.ReLU())
    with pytest.raises(AttributeError, match="cannot assign parameters before Module.__init__"):
        Early(nn.Parameter(pyburn.zeros(1)))
    with pytest.raises(AttributeError, match="before Module.__init__"):
        Early(3)(1)
    with pytest.raises(AttributeError, match="before Module.__init__"):
        nn.Sequential(Early(3))


def test_a_module_below_itself():
    loop = nn.Sequential(nn.Linear(1, 1))
    loop.append(loop)
    assert not loop.eval().training and not loop[0].training
    assert len(list(loop.modules())) == 2
    for endless in (repr, lambda m: m.state_dict(), lambda m: m(pyburn.ones(1)), lambda m: m.double()):
        with pytest.raises(RecursionError):
            endless(loop)
    assert copy.deepcopy(loop)[1][0].weight.shape == (1, 1)


# ---- walks and state


def test_printing():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 8, (3, 2), dilation=2, groups=1, bias=False), nn.BatchNorm2d(8, momentum=None))
            self.act = nn.ReLU(inplace=True)

        def extra_repr(self):
            return "width=8"

    assert repr(Outer()) == (
        "Outer(\n"
        "  width=8\n"
        "  (body): Sequential(\n"
        "    (0): Conv2d(3, 8, kernel_size=(3, 2), stride=(1, 1), dilation=(2, 2), bias=False)\n"
        "    (1): BatchNorm2d(8, eps=1e-05, momentum=None, affine=True, bias=True, track_running_stats=True)\n"
        "  )\n"
        "  (act): ReLU(inplace=True)\n"
        ")"
    )
    assert repr(nn.Sequential()) == "Sequential()" and repr(nn.Identity(3, a=4)) == "Identity()"


def test_state_dict_round_trip_and_messages():
    a, b = Net(), Net()
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert all(equal(p, q) for p, q in zip(a.parameters(), b.parameters()))
    assert not a.state_dict()["scale"].requires_grad and a.state_dict(keep_vars=True)["scale"] is a.scale
    assert list(a.first.state_dict(prefix="x.")) == ["x.weight", "x.bias"]
    state = a.state_dict()
    del state["scale"]
    state["extra"] = pyburn.zeros(1)
    state["first.bias"] = pyburn.zeros(2)
    with pytest.raises(RuntimeError) as error:
        b.load_state_dict(state)
    assert str(error.value) == (
        'Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "scale". \n\tUnexpected key(s) in state_dict: "extra". '
        "\n\tsize mismatch for first.bias: copying a param with shape pyburn.Size([2]) from checkpoint, "
        "the shape in current model is pyburn.Size([4])."
    )
    del state["first.bias"]
    assert b.load_state_dict(state, strict=False) == (["scale", "first.bias"], ["extra"])
    with pytest.raises(
        RuntimeError,
        match='parameter named "scale", expected pyburn.Tensor or Tensor-like object from checkpoint but received <class .int.>',
    ):
        b.load_state_dict({"scale": 3}, strict=False)
    with pytest.raises(TypeError, match="dict-like"):
        b.load_state_dict(3)


def test_assign_keeps_the_given_tensor():
    layer, weight = nn.Linear(2, 2), pyburn.ones(2, 2, dtype=pyburn.float64)
    layer.load_state_dict({"weight": weight}, strict=False, assign=True)
    assert layer.weight.dtype == pyburn.float64 and isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad


def test_modes_reach_overrides():
    class Frozen(nn.BatchNorm2d):
        def train(self, mode=True):
            return super().train(False)

    net = nn.Sequential(Frozen(2), nn.BatchNorm2d(2))
    assert net.train() is net and not net[0].training and net[1].training
    assert not any(m.training for m in net.eval().modules())
    assert [type(m).__name__ for m in net.modules()] == ["Sequential", "Frozen", "BatchNorm2d"]
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Frozen", "BatchNorm2d", "Sequential"]


def test_moves_keep_parameters():
    net = Net()
    weight = net.first.weight
    assert net.double() is net and net.first.weight is weight and weight.dtype == pyburn.float64 and net.mean.dtype == pyburn.float64
    net.to("cpu", pyburn.float32).to(dtype=pyburn.float16).to(pyburn.zeros(1))
    assert weight.dtype == pyburn.float32 and weight.requires_grad and weight.is_leaf
    net.backend = "cpu"
    assert net.backend == weight.device and nn.ReLU().backend is None


def test_gradients_and_freezing():
    net = Net()
    net(pyburn.ones(3, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.sum().item() == 0
    net.zero_grad()
    assert net.scale.grad is None
    assert not net.requires_grad_(False)(pyburn.ones(3, 2)).requires_grad


def test_options():
    conv = nn.Conv2d(2, 4, 3, padding="same")
    assert conv.padding == "same" and conv.kernel_size == (3, 3) and conv.in_channels == 2
    assert json.loads(json.dumps(conv._pb_config()))["kernel_size"] == [3, 3]
    norm = nn.BatchNorm2d(2)
    norm.momentum = None
    assert norm.momentum is None and "momentum=None" in repr(norm)
    with pytest.raises((TypeError, RuntimeError)):
        norm.eps = "x"


def test_sequential():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    assert len(net) == 3 and net[-1] is net[2] and list(net)[1] is net[1] and len(net[:2]) == 2 and net[:2][0] is net[0]
    net[1] = nn.Identity()
    del net[0]
    assert [name for name, _ in net.named_children()] == ["0", "1"] and repr(net[0]) == "Identity()"
    net.append(nn.ReLU()).extend([nn.ReLU()])
    assert len(net) == 4
    assert [name for name, _ in nn.Sequential({"a": nn.ReLU()}).named_children()] == ["a"]


def test_anything_passes_through_a_sequential():
    class Pair(nn.Module):
        def forward(self, x):
            return x, x

    class Add(nn.Module):
        def forward(self, pair):
            return pair[0] + pair[1]

    assert nn.Sequential(Pair(), Add())(pyburn.ones(1)).item() == 2


# ---- hooks


def test_hooks():
    layer, seen = nn.ReLU(), []
    before = layer.register_forward_pre_hook(lambda m, args: seen.append("before") or (args[0] + 1,))
    after = layer.register_forward_hook(lambda m, args, out: out * 10)
    layer.register_forward_hook(lambda m, args, out: seen.append("first"), prepend=True)
    net = nn.Sequential(layer)
    assert layer(pyburn.ones(1)).item() == 20 and net(pyburn.ones(1)).item() == 20 and seen == ["before", "first"] * 2
    before.remove()
    with after:
        pass
    assert layer(pyburn.ones(1)).item() == 1


def test_hooks_with_keywords_and_failures():
    class Scale(nn.Module):
        def forward(self, x, factor=1):
            if factor == 0:
                raise ZeroDivisionError
            return x * factor

    scale, seen = Scale(), []
    scale.register_forward_pre_hook(lambda m, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True)
    scale.register_forward_hook(lambda m, args, kwargs, out: seen.append((kwargs, out is None)), with_kwargs=True, always_call=True)
    assert scale(pyburn.ones(1), factor=2).item() == 3
    with pytest.raises(ZeroDivisionError):
        scale(pyburn.ones(1), factor=-1)
    assert seen == [({"factor": 3}, False), ({"factor": 0}, True)]


def test_forward_set_on_an_instance():
    layer = nn.ReLU()
    layer.forward = lambda x: x - 1
    assert nn.Sequential(layer)(pyburn.zeros(1)).item() == -1


# ---- copies


@pytest.mark.parametrize("make", [*LAYERS, Net])
@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies(make, copy_of):
    module = make().eval()
    module.note = {"a": [1]}
    twin = copy_of(module)
    assert type(twin) is type(module) and repr(twin) == repr(module) and not twin.training
    assert twin.note == module.note and twin.note is not module.note
    for (name, p), (other, q) in zip(module.state_dict(keep_vars=True).items(), twin.state_dict(keep_vars=True).items(), strict=True):
        assert name == other and p is not q and type(p) is type(q) and equal(p, q) and p.requires_grad == q.requires_grad


def test_copies_keep_sharing_and_randomness():
    layer = nn.Linear(2, 2)
    layer.weight.note = "kept"
    state = pyburn.default_generator.get_state()
    twin = copy.deepcopy(nn.Sequential(layer, layer))
    assert twin[0] is twin[1] and twin[0].weight.note == "kept" and pyburn.default_generator.get_state() == state


# ---- garbage


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize("through", ["dict", "child", "parameter", "hook", "tensor hook", "sequential", "subclass"])
def test_cycles_are_collected(make, through):
    module = make()
    if through == "subclass":
        module = type("Sub", (type(module),), {})(*_arguments(module))
    watch = weakref.ref(module)
    if through == "child":
        holder = nn.Module()
        holder.back = [module]
        module.child = holder
    elif through == "parameter":
        module.extra = nn.Parameter(pyburn.zeros(1))
        module.extra.owner = module
    elif through == "tensor hook":
        module.extra = nn.Parameter(pyburn.zeros(1))
        module.extra.register_hook(lambda gradient, keep=module: None)
    elif through == "hook":
        module.register_forward_hook(lambda m, args, out, keep=module: None)
    elif through == "sequential":
        holder = Net()
        holder.outer = [nn.Sequential(nn.Sequential(module), holder)]
        module.above = holder
        del holder
    else:
        module.me = module.__dict__["me"] = [module]
    del module
    holder = None
    assert watch() is not None
    gc.collect()
    assert watch() is None


def _arguments(module):
    return {"Linear": (2, 3), "Conv2d": (2, 3, 3), "BatchNorm2d": (2,)}.get(type(module).__name__, ())


def test_python_module_inside_sequential_lives_as_long_as_needed():
    net = nn.Sequential(Net())
    net[0].note = "alive"
    gc.collect()
    assert net[0].note == "alive" and net(pyburn.ones(1, 2)).shape == (1, 4)
    child = net[0]
    del net
    gc.collect()
    assert child(pyburn.ones(1, 2)).shape == (1, 4)


def test_names_of_users():
    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = {"width": 2}  # a name that models like to use
            self.inner = nn.Linear(2, 3)
            self.add_module("level_1", nn.ReLU())

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    wrapper = Wrapper()
    assert wrapper.config == {"width": 2} and wrapper.out_features == 3
    assert wrapper.__getattr__("level_1") is wrapper.level_1
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wrapper.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nn.Sequential(nn.ReLU()).nothing  # noqa: B018


def test_data_parallel_runs_the_module():
    layer = nn.Linear(2, 3)
    model = nn.DataParallel(layer, device_ids=[0])
    x = pyburn.ones(4, 2)
    assert pyburn.equal(model(x), layer(x)) and pyburn.equal(nn.parallel.data_parallel(layer, x), layer(x))
    assert list(model.state_dict()) == ["module.weight", "module.bias"] and model.module is layer


def test_tensors_as_older_code_makes_them():
    assert pyburn.Tensor(2, 3).shape == (2, 3) and pyburn.Tensor(5).shape == (5,) and pyburn.Tensor().shape == (0,)
    assert pyburn.Tensor(pyburn.ones(2, 4).shape).shape == (2, 4)
    assert pyburn.Tensor([1, 2]).dtype == pyburn.float32 and pyburn.Tensor([1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError, match="data or sizes"):
        pyburn.Tensor(2, 3.5)


def test_dropout_of_channels_takes_what_pytorch_takes():
    with pytest.warns(UserWarning, match="2-D input to dropout2d"):
        assert nn.Dropout2d()(pyburn.ones(4, 8)).shape == (4, 8)
    with pytest.raises(RuntimeError, match="2D or 3D input"):
        nn.Dropout1d()(pyburn.ones(4))


def test_modules_meet_in_one_class() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.name = nn.Linear(2, 2)

        def __init_subclass__(cls) -> None:
            cls.noticed = True  # type: ignore[attr-defined]

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 3)

        def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
            return self.layer(x)

    class Both(Named, Encoder):
        pass

    net = Both()
    assert [name for name, _ in net.named_children()] == ["layer", "name"] and net.noticed  # type: ignore[attr-defined]
    assert net(pyburn.ones(1, 2)).shape == (1, 3) and Both.__bases__ == (Named, Encoder)
    assert copy.deepcopy(net).state_dict().keys() == net.state_dict().keys()

    class Row(Named, nn.Sequential):  # the class of C++ is Sequential's, though it comes second
        def __init__(self) -> None:
            nn.Sequential.__init__(self, nn.ReLU())

    assert Row()(pyburn.tensor([-1.0, 1.0])).tolist() == [0, 1]
    first = type("First", (nn.ReLU, nn.Linear), {})()
    assert first(pyburn.tensor([-1.0, 1.0])).tolist() == [0, 1]
    with pytest.raises(TypeError, match="expected a Linear, got a ReLU"):
        nn.Linear.__init__(first, 1, 2)


NAMES_OF_MODEL_FILES = ["_config", "_train", "_transform", "_text", "_put", "_entries", "_register", "_set", "_insert", "_keys", "_hooks"]


@pytest.mark.parametrize("base", [nn.Module, nn.Sequential, nn.ModuleList])
@pytest.mark.parametrize("name", NAMES_OF_MODEL_FILES)
def test_attributes_of_a_model_have_any_name(base, name):
    class Model(base):
        def __init__(self):
            super().__init__()
            setattr(self, name, {"of": "the model"})
            self.inner = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
            self.scale = nn.Parameter(pyburn.ones(2))

    model = Model().double().eval().requires_grad_(False)
    handle = model.register_forward_hook(lambda *_: None)
    for copied in (model, copy.deepcopy(model)):
        copied.load_state_dict(copied.state_dict())
        copied.add_module("more", nn.Linear(1, 1))
        assert "Linear" in repr(copied) and len(list(copied.named_modules())) == 5
        assert copied.scale.dtype == pyburn.float64 and not copied.inner.training and not copied.scale.requires_grad
        assert getattr(copied, name) == {"of": "the model"}
    handle.remove()


def test_methods_of_a_model_have_any_name():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def _train(self, data):
            return data

        def _transform(self, data):
            return data

        def _register(self):
            raise AssertionError

    model = Model().double().eval()
    model.register_buffer("kept", pyburn.ones(1))
    assert model.layer.weight.dtype == pyburn.float64 and not model.layer.training and model._train(3) == 3


@pytest.mark.parametrize("value", ["flash", 3, None])
def test_a_backend_that_names_no_device_is_an_attribute(value):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            with pytest.warns(UserWarning, match="names no device"):
                self.backend = value

    model = Model()
    assert model.backend == value and copy.deepcopy(model).backend == value
    model.backend = "ndarray"
    assert model.backend == model.layer.weight.device
    with pytest.raises(pyburn.DeviceError, match="no such adapter|not available|no adapter"):
        model.backend = "Wgpu:no such GPU"


def test_training_may_be_deleted():
    layer = nn.Dropout().eval()
    del layer.training
    assert layer.training and not layer.eval().training


def test_a_state_dict_may_hold_arrays_of_other_libraries() -> None:
    class Foreign:  # as a tensor of PyTorch that requires a gradient
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __array__(self, *arguments: Any) -> np.ndarray:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

        def detach(self) -> np.ndarray:
            return self.array

    weight, bias = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(2, np.float32)
    layer = nn.Linear(3, 2)
    layer.load_state_dict({"weight": Foreign(weight), "bias": bias})
    assert layer.weight.tolist() == weight.tolist() and layer.bias.tolist() == bias.tolist()
