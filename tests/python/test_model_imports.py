"""What the import lines of a model file find once `torch` is `pyburn` there."""

from __future__ import annotations

import abc
import importlib
import operator
import subprocess
import sys
from typing import Any

import einops
import pytest

import pyburn
from pyburn import nn
from pyburn.einops import EinMix, Rearrange, Reduce

_MODULES = """amp autograd autograd.functional cuda distributions distributions.normal func jit linalg nn nn.functional nn.init
nn.modules.batchnorm nn.parallel nn.utils.prune nn.utils.rnn optim optim.adam optim.lr_scheduler optim.swa_utils special testing
utils utils.checkpoint utils.data"""


@pytest.mark.parametrize("name", _MODULES.split())
def test_modules_of_pytorch_that_pyburn_has_can_be_imported(name: str) -> None:
    assert importlib.import_module(f"pyburn.{name}").__name__.startswith("pyburn")


@pytest.mark.parametrize("name", ["nothing", "nn.nothing", "optim.nothing.more", "export", "hub", "backends.cudnn", "utils.model_zoo"])
def test_other_modules_are_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="pyburn"):
        importlib.import_module(f"pyburn.{name}")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("arrange", "module 'pyburn' has no attribute 'arrange'. Did you mean 'arange'?"),
        ("nn.Lineer", "module 'pyburn.nn' has no attribute 'Lineer'. Did you mean 'Linear'?"),
        ("optim.AdmW", "module 'pyburn.optim' has no attribute 'AdmW'. Did you mean 'AdamW'?"),
        ("lu_unpac", "module 'pyburn' has no attribute 'lu_unpac'. Did you mean 'lu_unpack'?"),
        ("quantization", "module 'pyburn' has no attribute 'quantization'"),
    ],
)
def test_unknown_names_come_with_a_suggestion(name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as error:
        operator.attrgetter(name)(pyburn)
    assert str(error.value) == advice


def test_a_module_that_is_not_loaded_asks_for_its_import() -> None:
    program = "import pyburn\ntry:\n    pyburn.compat\nexcept AttributeError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "module 'pyburn' has no attribute 'compat': write `import pyburn.compat` first\n"


def test_modules_may_be_abstract() -> None:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self) -> int: ...

        def twice(self) -> int:
            return 2 * self.area()

    class Model(nn.Module, Shape):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 3)

        def area(self) -> int:
            return 6

    class Layer(nn.Linear, abc.ABC):
        pass

    model = Model()
    assert model.twice() == 12 and isinstance(model, Shape) and isinstance(model, nn.Module) and list(model.state_dict())
    assert isinstance(Layer(1, 2), abc.ABC) and Layer(1, 2)(pyburn.ones(1)).shape == (2,)
    frames = []

    class Kind(type):
        def __new__(cls, *args: Any) -> Any:
            frames.append(sys._getframe(1).f_code.co_name)
            return super().__new__(cls, *args)

    class Plain(metaclass=Kind):
        pass

    assert frames == ["test_modules_may_be_abstract"]  # nothing of pyburn's stands between a class statement and its metaclass


def test_saved_variables_are_saved_tensors() -> None:
    class Square(pyburn.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * ctx.saved_variables[0] * g

    x = pyburn.tensor(3.0, requires_grad=True)
    Square.apply(x).backward()
    assert x.grad == 6


def test_einops_takes_tensors() -> None:
    x = pyburn.arange(24.0).reshape(2, 3, 4)
    assert pyburn.equal(einops.rearrange(x, "a b c -> c (b a)"), x.permute(2, 1, 0).reshape(4, 6))
    assert pyburn.equal(einops.repeat(x, "a b c -> a n b c", n=2), x.unsqueeze(1).expand(2, 2, 3, 4))
    for operation in ("min", "max", "sum", "mean", "prod"):
        expected = getattr(x.numpy(), operation)(axis=(0, 2))
        assert einops.reduce(x + 1 - 1, "a b c -> b", operation).tolist() == pytest.approx(expected.tolist())
    assert pyburn.equal(einops.einsum(x, x, "a b c, a d c -> a b d"), x @ x.mT)
    packed, shapes = einops.pack([x, x[:, 0]], "a * c")
    assert [part.shape for part in einops.unpack(packed, shapes, "a * c")] == [(2, 3, 4), (2, 4)]
    assert einops.rearrange([x, x], "n a b c -> a b (n c)").shape == (2, 3, 8)
    weight = nn.Parameter(pyburn.ones(3))
    einops.repeat(weight, "d -> b d", b=5).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [5, 5, 5]


def test_layers_of_einops() -> None:
    x = pyburn.randn(2, 3, 4)
    model = nn.Sequential(Rearrange("a b c -> a (b c)"), nn.Linear(12, 6), Reduce("a (b k) -> a b", "max", k=2))
    assert model(x).shape == (2, 3) and "Rearrange('a b c -> a (b c)')" in repr(model)
    mix = EinMix("a (b g) c -> a b (g d)", weight_shape="g c d", bias_shape="d", g=3, c=4, d=2)
    assert mix(x).shape == (2, 1, 6) and list(mix.state_dict()) == ["weight", "bias"]
    expected = pyburn.einsum("agc,gcd->agd", x, mix.weight) + mix.bias
    assert pyburn.allclose(mix(x)[:, 0].reshape(2, 3, 2), expected, atol=1e-6)


@pytest.mark.parametrize("modules", ["einops, pyburn.einops", "pyburn.einops, einops"])
def test_einops_takes_tensors_after_an_explicit_import(modules: str) -> None:
    program = f"import {modules}\nprint(tuple(einops.rearrange(pyburn.ones(2, 3), 'a b -> b a').shape))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "(3, 2)\n"
