"""nn.Module and the layers are ordinary classes: what Python and its libraries do with classes works with them, as with PyTorch's."""

from __future__ import annotations

import abc
import copy
import dataclasses
import gc
import inspect
import pickle
import pydoc
import threading
import types
import typing
import weakref
from typing import Any, Generic, Protocol, TypeVar
from unittest import mock

import pytest

import pyburn
from pyburn import nn

T = TypeVar("T")
CLASSES = [value for name in nn.__all__ if isinstance(value := getattr(nn, name), type) and issubclass(value, nn.Module)]
X = pyburn.ones(1, 2)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_metaclass_is_type(cls: type) -> None:
    assert type(cls) is type and all(type(base) is type for base in cls.__mro__)


# ---- bases


def test_abstract_methods_are_enforced() -> None:
    class Metric(nn.Module, abc.ABC):
        @abc.abstractmethod
        def score(self) -> float: ...

    class Accuracy(Metric):
        def score(self) -> float:
            return 1.0

    class Scored(nn.Linear, Metric):
        pass

    for cls, arguments in ((Metric, ()), (Scored, (2, 3))):
        with pytest.raises(TypeError, match="abstract"):
            cls(*arguments)
    assert isinstance(Accuracy(), Metric) and issubclass(Scored, Metric) and type(Metric) is abc.ABCMeta


def test_abstract_classes_answer_for_modules() -> None:
    class Registered(abc.ABC):  # noqa: B024
        pass

    class Hooked(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other: type) -> bool:
            return any("special" in vars(base) for base in other.__mro__)

    class Special(nn.Linear):
        special = True

    Registered.register(nn.Linear)
    assert isinstance(Special(1, 1), Registered) and not isinstance(nn.ReLU(), Registered)
    assert isinstance(Special(1, 1), Hooked) and not isinstance(nn.Linear(1, 1), Hooked)


def test_protocols() -> None:
    @typing.runtime_checkable
    class Encoder(Protocol):
        def encode(self, x: Any) -> Any: ...

    class Explicit(nn.Module, Encoder):
        def encode(self, x: Any) -> Any:
            return x

    class Implicit(nn.Module):
        def encode(self, x: Any) -> Any:
            return x

    assert isinstance(Explicit(), Encoder) and isinstance(Implicit(), Encoder) and not isinstance(nn.ReLU(), Encoder)
    assert Explicit().encode(3) == 3


def test_generic_modules() -> None:
    class Box(nn.Module, Generic[T]):
        def __init__(self, value: T) -> None:
            super().__init__()
            self.value = value

    class Row(Box[int], nn.Sequential):
        pass

    assert Box[int](3).value == 3 and Row(4).value == 4 and isinstance(Row(4), nn.Sequential)


def test_a_registry_metaclass_is_run() -> None:
    registry: dict[str, Any] = {}

    class Registry(type):
        @classmethod
        def __prepare__(cls, name: str, bases: tuple[type, ...], **options: Any) -> dict[str, Any]:  # type: ignore[override]
            return {"prepared": True}

        def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any], **options: Any) -> Any:
            return super().__new__(cls, name, bases, members)

        def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any], **options: Any) -> None:
            super().__init__(name, bases, members)
            registry[name] = (cls, options)

        def __call__(cls, *args: Any, **options: Any) -> Any:
            made = super().__call__(*args, **options)
            made.counted = True
            return made

    class Base(nn.Module, metaclass=Registry):
        pass

    class Layer(Base, nn.Linear, tag=3):
        def __init__(self) -> None:
            nn.Linear.__init__(self, 2, 3)

    assert registry == {"Base": (Base, {}), "Layer": (Layer, {"tag": 3})} and type(Layer) is Registry
    assert Layer().counted and Layer.prepared and Layer()(X).shape == (1, 3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("base", [nn.Module, nn.Linear, nn.Conv2d, nn.BatchNorm1d, nn.TransformerEncoderLayer])
def test_class_keyword_arguments(base: Any) -> None:
    seen = []

    class Tagged(base):
        def __init_subclass__(cls, tag: int = 0, **options: Any) -> None:
            super().__init_subclass__(**options)
            seen.append(tag)

    class Mixin:
        def __init_subclass__(cls, name: str = "", **options: Any) -> None:
            super().__init_subclass__(**options)
            seen.append(name)

    class Child(Tagged, tag=5):
        pass

    class Both(base, Mixin, name="both"):
        pass

    assert seen == [5, "both"]
    with pytest.raises(TypeError, match="__init_subclass__"):
        types.new_class("Wrong", (base,), {"unknown": 1})


def test_mixins_before_a_module_pass_arguments_on() -> None:
    class Tagged:
        def __init__(self, *args: Any, tag: int = 0, **options: Any) -> None:
            super().__init__(*args, **options)
            self.tag = tag

    class Net(Tagged, nn.Module):
        pass

    class Layer(Tagged, nn.Linear):
        pass

    assert Net(tag=4).tag == 4 and Layer(2, 3, tag=5).tag == 5 and Layer(2, 3)(X).shape == (1, 3)


def test_mixins_behind_a_module_are_called_when_the_class_asks_for_it() -> None:
    class Counted:
        def __init__(self, first: int = 0, second: int = 0) -> None:
            self.counted = (first, second)

    class Silent(nn.Module, Counted):
        pass

    class Layer(nn.Linear, Counted):
        pass

    class Chained(nn.Module, Counted):
        call_super_init = True

        def __init__(self) -> None:
            super().__init__(1, second=2)

    assert not hasattr(Silent(), "counted") and not hasattr(Layer(1, 2), "counted") and Chained().counted == (1, 2)
    with pytest.raises(TypeError, match=r"^Silent.__init__\(\) takes 1 positional argument but 2 were given"):
        Silent(1)
    with pytest.raises(TypeError, match=r"^Silent.__init__\(\) got an unexpected keyword argument 'first'"):
        Silent(first=1)


def test_module_mixins_behind_a_layer_run_first() -> None:
    class Mixin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(pyburn.ones(1))
            self.tag = 1

    class Layer(nn.Linear, Mixin):
        pass

    class Row(nn.Sequential, Mixin):
        pass

    layer, row = Layer(2, 3), Row(nn.Linear(2, 3))
    assert list(layer.state_dict()) == ["scale", "weight", "bias"] and layer.tag == 1 and layer(X).shape == (1, 3)
    assert list(row.state_dict()) == ["scale", "0.weight", "0.bias"] and row(X).shape == (1, 3)
    assert nn.Sequential(layer)(X).shape == (1, 3) and copy.deepcopy(layer).tag == 1


def test_two_layers_as_bases() -> None:
    class Plain(nn.Linear):
        pass

    class Special(nn.modules.linear.NonDynamicallyQuantizableLinear):
        pass

    class Both(Plain, Special):
        def __init__(self) -> None:
            nn.Linear.__init__(self, 2, 3)

    class First(nn.Conv2d, nn.ReLU):
        pass

    assert Both()(X).shape == (1, 3) and isinstance(Both(), nn.modules.linear.NonDynamicallyQuantizableLinear)
    assert First(1, 2, 3)(pyburn.ones(1, 1, 4, 4)).shape == (1, 2, 2, 2)
    with pytest.raises(TypeError, match="expected a Linear, got a Conv2d"):
        type("Mixed", (nn.Conv2d, nn.Linear), {"__init__": lambda self: nn.Linear.__init__(self, 2, 3)})()


def test_bases_may_change() -> None:
    class One(nn.Module):
        value = 1

    class Two(nn.Module):
        value = 2

    class Child(One):
        pass

    child = Child()
    Child.__bases__ = (Two,)
    assert child.value == 2


# ---- construction


def test_module_init_alone_makes_an_empty_layer() -> None:
    class Bare(nn.Linear):
        def __init__(self) -> None:
            nn.Module.__init__(self)
            self.in_features, self.out_features = 2, 3
            self.weight = nn.Parameter(pyburn.ones(3, 2))
            self.register_parameter("bias", None)

    assert repr(Bare()) == "Bare(in_features=2, out_features=3, bias=False)" and Bare()(X).tolist() == [[2, 2, 2]]


def test_a_second_init_starts_over() -> None:
    layer = nn.Linear(2, 3)
    parent = nn.Sequential(layer)
    layer.extra = nn.Parameter(X)
    layer.__init__(2, 5, bias=False)  # type: ignore[misc]
    assert list(layer.state_dict()) == ["weight"] and parent(X).shape == (1, 5) and parent[0] is layer
    with pytest.raises(TypeError, match="missing 1 required"):
        layer.__init__(2)  # type: ignore[misc, call-arg]
    assert layer(X).shape == (1, 5)


def test_objects_without_init() -> None:
    layer = object.__new__(nn.Linear)
    for use in (lambda: layer.weight, lambda: layer(X), lambda: layer.training, lambda: layer.forward(X), lambda: list(layer.parameters())):
        with pytest.raises(AttributeError):
            use()
    with pytest.raises(TypeError, match="not a Module"):
        nn.Linear.__init__(object(), 2, 3)  # type: ignore[arg-type]
    nn.Linear.__init__(layer, 2, 3)
    assert layer(X).shape == (1, 3)


def test_dataclasses() -> None:
    @dataclasses.dataclass(eq=False)
    class Net(nn.Module):
        inputs: int
        outputs: int = 3

        def __post_init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(self.inputs, self.outputs)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    net = Net(2)
    assert net(X).shape == (1, 3) and dataclasses.asdict(net) == {"inputs": 2, "outputs": 3} and list(net.state_dict())

    @dataclasses.dataclass(unsafe_hash=True)
    class Early(nn.Module):
        layer: nn.Module

        def __new__(cls, *args: Any, **options: Any) -> Any:
            made = super().__new__(cls)
            nn.Module.__init__(made)
            return made

    assert [name for name, _ in Early(nn.ReLU()).named_children()] == ["layer"]


# ---- tools


def test_signatures() -> None:
    layer = nn.Linear(2, 3)

    class Net(nn.Module):
        def __init__(self, width: int, depth: int = 2) -> None:
            super().__init__()

        def forward(self, x: Any, *, mask: Any = None) -> Any:
            return x

    assert str(inspect.signature(Net)) == "(width: 'int', depth: 'int' = 2) -> 'None'"
    assert str(inspect.signature(Net(1))) == str(inspect.signature(layer)) == "(*args, **kwargs)"
    assert str(inspect.signature(nn.Linear)) == "(in_features, out_features, bias=True, device=None, dtype=None)"
    assert inspect.getfullargspec(nn.Linear.__init__).args == ["self", "in_features", "out_features", "bias", "device", "dtype"]
    assert list(inspect.signature(layer.forward).parameters) == ["input"]
    assert inspect.getfullargspec(layer.forward).args == ["self", "input"]
    assert inspect.getfullargspec(Net(1).forward).kwonlyargs == ["mask"]
    attention = inspect.signature(nn.MultiheadAttention(2, 1).forward).parameters
    assert list(attention)[:4] == ["query", "key", "value", "key_padding_mask"] and attention["need_weights"].default is True
    assert str(inspect.signature(nn.LazyLinear)) == "(out_features, bias=True, device=None, dtype=None)"
    assert str(inspect.signature(nn.LazyLinear(3))) == "(*args, **kwargs)"
    assert inspect.ismethod(layer.forward) and layer.forward.__self__ is layer and layer.forward == layer.forward


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_help_and_signatures_of_every_class(cls: type) -> None:
    text = pydoc.render_doc(cls)
    assert cls.__name__ in text and "Method resolution order" in text or cls is nn.Module
    inspect.signature(cls)
    for name in {"__init__", "forward", *vars(cls)}:
        if inspect.isroutine(getattr(cls, name, None)) and not name.startswith("_pb_"):
            inspect.signature(getattr(cls, name))


def test_mocks() -> None:
    layer = nn.Linear(2, 2)
    row = nn.Sequential(layer)
    with mock.patch.object(nn.Linear, "forward", return_value=7):
        assert layer(X) == row(X) == 7
    with mock.patch.object(nn.Linear, "forward", autospec=True) as forward:
        row(X)
        assert forward.call_count == 1
    with mock.patch.object(layer, "forward", return_value=8):
        assert layer(X) == row(X) == 8
    with mock.patch.object(nn.Module, "__call__", lambda self, x: 9):
        assert layer(X) == 9
    assert row(X).shape == (1, 2)


def test_kinds_of_forward() -> None:
    class Static(nn.Module):
        @staticmethod
        def forward(x: Any) -> Any:
            return x + 1

    class OfClass(nn.Module):
        @classmethod
        def forward(cls, x: Any) -> Any:
            return cls.__name__

    class OfObject(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.forward = lambda x: x + 2

    class Anything(nn.Module):
        def forward(self, a: Any, *b: Any, c: int = 1, **d: Any) -> Any:
            return a, b, c, d

    assert (Static()(1), OfClass()(1), OfObject()(1)) == (2, "OfClass", 3)
    assert Anything()(1) == Anything()(a=1) == (1, (), 1, {}) and Anything()(*range(12), c=2, e=3) == (0, tuple(range(1, 12)), 2, {"e": 3})


def test_subclasses_are_listed_and_collected() -> None:
    class Temporary(nn.Linear):
        def __init__(self) -> None:
            super().__init__(2, 2)
            self.itself = self

    assert Temporary in nn.Linear.__subclasses__() and nn.Linear in nn.Module.__subclasses__()
    Temporary()
    dead = weakref.ref(Temporary)
    del Temporary
    gc.collect()
    assert dead() is None and not any(cls.__name__ == "Temporary" for cls in nn.Linear.__subclasses__())


def test_classes_and_objects_do_not_leak() -> None:
    def use() -> None:
        for _ in range(20):

            class Net(nn.Module, abc.ABC):
                def __init__(self) -> None:
                    super().__init__()
                    self.layer = nn.Linear(2, 2)

                def forward(self, x: Any) -> Any:
                    return self.layer(x)

            net = Net()
            net(X)
            net.layer.__init__(2, 3)
            net.layer.__class__ = nn.Module
            with pytest.raises(AttributeError):
                _ = net.nothing
            object.__new__(Net)
        gc.collect()

    use()
    before = len(gc.get_objects())
    for _ in range(5):
        use()
    assert len(gc.get_objects()) - before < 20


def test_a_chain_of_modules_of_any_length_is_freed() -> None:
    chain: Any = nn.Identity()
    for _ in range(50_000):
        chain = nn.Sequential(chain)
    dead = weakref.ref(chain)
    del chain
    assert dead() is None


class Pickled(nn.Linear, abc.ABC):
    """At the top of the file, where pickle finds it."""


def test_copies_and_pickles() -> None:
    layer = Pickled(2, 3)
    layer.note = [1]  # type: ignore[assignment]
    for other in (copy.copy(layer), copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert type(other) is Pickled and other.note == [1] and pyburn.equal(other.weight, layer.weight)
    assert pickle.loads(pickle.dumps([nn.Linear, nn.LSTM, nn.RNNBase])) == [nn.Linear, nn.LSTM, nn.RNNBase]
    assert pickle.loads(pickle.dumps(nn.Linear.forward)) is nn.Linear.forward
    assert pickle.loads(pickle.dumps(layer.forward))(X).shape == (1, 3)


def test_threads_make_classes_and_modules() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(100):

                class Net(nn.Module):
                    def __init__(self) -> None:
                        super().__init__()
                        self.layer = nn.Linear(2, 2)

                assert Net().layer(X).shape == (1, 2)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_the_classes_between_module_and_layers_are_those_of_pytorch() -> None:
    names = {
        cls: [base.__name__ for base in cls.__mro__[1:-2]] for cls in (nn.LSTM, nn.BatchNorm2d, nn.CrossEntropyLoss, nn.ConvTranspose1d)
    }
    assert names[nn.LSTM] == ["RNNBase"] and names[nn.BatchNorm2d] == ["_BatchNorm", "_NormBase"]
    assert names[nn.CrossEntropyLoss] == ["_WeightedLoss", "_Loss"] and names[nn.ConvTranspose1d] == ["_ConvTransposeNd", "_ConvNd"]
    assert repr(nn.BatchNorm2d(2)).startswith("BatchNorm2d(2, eps=1e-05")
