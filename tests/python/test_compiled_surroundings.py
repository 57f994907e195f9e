"""Compiled steps among hooks, devices, threads, optimizers and other objects, and what is left to Python."""

from __future__ import annotations

import copy
import threading
import warnings

import pytest

import pyburn
from pyburn import nn, optim
from pyburn.nn import functional as F

from .compiled_setting import Setting, X, Y


def test_optimizer_hooks_run():
    s = Setting()
    calls = []
    s.optimizer.register_step_post_hook(lambda *args: calls.append(1))
    with pytest.warns(UserWarning, match="Adam has hooks"):
        for _ in range(4):
            s.step(X, Y)
    assert len(calls) == 4


def test_other_devices():
    f = pyburn.compile(lambda x: x * 2 + 1)
    x = X.to("fusion(cpu)")
    with pytest.warns(UserWarning, match="has decorators"):
        for _ in range(4):
            assert f(x).tolist() == (X * 2 + 1).tolist()
    on_numpy = pyburn.ones(2, device="numpy")
    g = pyburn.compile(lambda x: x.sum() + on_numpy.sum().to("cpu"))
    with pytest.warns(UserWarning, match=r"computes on|is read"):
        for _ in range(3):
            assert g(pyburn.ones(2)).item() == 4.0


def test_explain():
    s = Setting()
    for _ in range(5):
        s.step(X, Y)
    text = s.step.explain()
    assert "1 program" in text and "float32[8, 4]" in text and "adam_step" in text and "fused" in text


def test_methods_and_modules():
    class Trainer:
        def __init__(self):
            self.model = nn.Linear(4, 2)
            self.optimizer = optim.SGD(self.model.parameters(), lr=0.1)

        @pyburn.compile
        def step(self, x, y):
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            return loss

    trainer = Trainer()
    losses = [trainer.step(X, Y).item() for _ in range(8)]
    assert losses == sorted(losses, reverse=True)
    assert Trainer.step.runs > 0

    with pytest.raises(TypeError, match="expected a function"):
        pyburn.compile(3)


def test_inside_of_a_capture_and_of_another_step():
    f = pyburn.compile(lambda x: x * 2)
    graph = pyburn.inference.capture(lambda x: f(x) + 1, X)
    assert graph.operations == ["mul", "add"]
    g = pyburn.compile(lambda x: f(x) + 1)
    for _ in range(4):
        assert g(X).tolist() == (X * 2 + 1).tolist()
    assert g.programs == 1


def test_effects_of_python(capsys):
    def f(x):
        print("called")
        return x * 2

    compiled = pyburn.compile(f)
    with pytest.warns(UserWarning, match=r"it calls print\(\) \(.*test_compiled_surroundings.py"):
        for _ in range(5):
            compiled(X)
    assert capsys.readouterr().out == "called\n" * 5


def test_an_argument_that_is_a_parameter():
    pyburn.manual_seed(0)
    model = nn.Linear(4, 4, bias=False)
    reference = copy.deepcopy(model)
    optimizers = [optim.SGD(m.parameters(), lr=0.1) for m in (model, reference)]

    def make(m, o):
        def step(x):
            o.zero_grad()
            loss = (m(x) ** 2).mean()
            loss.backward()
            o.step()
            return loss

        return step

    f, g = pyburn.compile(make(model, optimizers[0])), make(reference, optimizers[1])
    x = pyburn.ones(4, 4)
    for _ in range(4):
        assert f(x).item() == g(x).item()
    assert f.runs > 0
    with pytest.warns(UserWarning, match="writes to an argument|another one"):
        for _ in range(4):
            assert f(model.weight.detach()).item() == g(reference.weight.detach()).item()
    assert model.weight.tolist() == reference.weight.tolist()


def test_attributes_of_an_object_that_is_an_argument():
    class Trainer:
        def __init__(self, scale):
            self.scale, self.calls = scale, 0

        @pyburn.compile
        def step(self, x):
            return x * self.scale

    a, b = Trainer(2.0), Trainer(3.0)
    for _ in range(5):
        assert a.step(X).tolist() == (X * 2).tolist() and b.step(X).tolist() == (X * 3).tolist()
    a.scale = 5.0
    for _ in range(5):
        assert a.step(X).tolist() == (X * 5).tolist()
    assert Trainer.step.programs == 3


def test_the_cache_is_bounded():
    f = pyburn.compile(lambda x, n: x * n)
    for n in range(20):
        for _ in range(4):
            assert f(X, n).tolist() == (X * n).tolist()
    assert f.programs == 8
    g = pyburn.compile(lambda x, n: x * n)
    with pytest.warns(UserWarning, match="its arguments have other shapes or values in each call"):
        for n in range(60):
            assert g(X, n).tolist() == (X * n).tolist()
    assert not g.kinds


def test_many_threads():

    s = Setting()
    errors = []

    def work():
        try:
            for _ in range(50):
                s.step(X, Y)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for _ in range(200):
        s.python(X, Y)
    for p, q in zip(s.model.parameters(), s.reference.parameters()):
        assert p.tolist() == q.tolist()


@pytest.mark.parametrize("name", ["Muon", "Adafactor"])
def test_optimizers_whose_numbers_depend_on_values(name):
    def build():
        pyburn.manual_seed(0)
        weight = nn.Parameter(pyburn.randn(4, 2))
        optimizer = getattr(optim, name)([weight], lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(x @ weight, y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    python, compiled = build(), pyburn.compile(build())
    wanted = [python(X, Y).item() for _ in range(12)]
    with pytest.warns(UserWarning, match=r"runs as Python"):
        assert [compiled(X, Y).item() for _ in range(12)] == wanted
    assert compiled.programs == 0 and "runs as Python" in compiled.explain()


def test_an_optimizer_written_in_python():
    class Descent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @pyburn.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p -= group["lr"] * p.grad

    s = Setting(optimizer=Descent)
    s.both()
    for o in (s.optimizer, s.reference_optimizer):
        o.param_groups[0]["lr"] = 0.001
    s.both()
    assert s.step.programs == 2


def test_hooks_of_modules_and_parameters():
    calls = []
    s = Setting()
    s.both()
    handle = s.model[0].register_forward_hook(lambda module, args, output: calls.append(1))
    with pytest.warns(UserWarning, match="Linear has hooks"):
        s.both(times=4)
    assert len(calls) == 4
    handle.remove()
    t = Setting()
    t.both()
    t.model[0].weight.register_hook(lambda g: calls.append(2))
    with pytest.warns(UserWarning, match="a parameter has hooks"):
        t.both(times=4)
    assert len(calls) == 8


def test_zeros_of_both_signs():
    f = pyburn.compile(lambda x, n: x / n)
    for n in (0.0, -0.0, float("nan"), float("nan")):
        for _ in range(4):
            assert repr(f(pyburn.ones(1), n).tolist()) == repr((pyburn.ones(1) / n).tolist())
    assert f.programs == 3


def test_two_generators_of_one_seed():
    a, b = (pyburn.Generator().manual_seed(5) for _ in range(2))
    f = pyburn.compile(lambda x: x + pyburn.rand(2, generator=a) - pyburn.rand(2, generator=b))
    with pytest.warns(UserWarning, match="same seed"):
        for _ in range(4):
            assert f(pyburn.zeros(2)).tolist() == [0.0, 0.0]
    g = pyburn.compile(lambda x: x + pyburn.rand(2, generator=a))
    c = pyburn.Generator().manual_seed(5)
    pyburn.rand(8 * 2, generator=c)
    for _ in range(6):
        g(pyburn.zeros(2))
    assert g.runs > 0


def test_a_cache_that_the_first_call_fills():
    class Positions(nn.Module):
        table = None

        def forward(self, x):
            if self.table is None:
                self.table = pyburn.arange(x.shape[1]) * float(x.sum() * 0 + 1)
            return x + self.table

    module = Positions()
    f = pyburn.compile(module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(5):
            assert f(X).tolist() == (X + pyburn.arange(4)).tolist()
    assert f.programs == 1


def test_copies_and_attributes():
    model = nn.Linear(4, 2)
    f = pyburn.compile(model)
    assert [p is q for p, q in zip(f.parameters(), model.parameters())] == [True, True]
    g = copy.deepcopy(f)
    assert g.function is not model and g.programs == 0
    with pyburn.no_grad():
        for _ in range(4):
            assert g(X).tolist() == f(X).tolist() == model(X).tolist()
    assert f.programs == g.programs == 1
    assert pyburn.compile(Setting.make).__name__ == "make"


def test_anomaly_detection_and_profiles_see_python():
    s = Setting()
    s.both()
    runs = s.step.runs
    with pyburn.autograd.set_detect_anomaly(True):
        s.both()
    assert s.step.runs == runs and s.step.programs == 1
    with pyburn._core._OperationTimes(pyburn.get_default_device()) as times:
        s.step(X, Y)
    s.python(X, Y)
    assert any(record[0] == "adam_step" for record in times.records())
    s.both()
    assert s.step.runs == runs + 5
