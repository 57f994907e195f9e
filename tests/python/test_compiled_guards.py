"""What compiled steps do when something changes, and what they leave to Python."""

from __future__ import annotations

import copy
import random
import warnings

import pytest

import pyburn
from pyburn import nn, optim
from pyburn.nn import functional as F

X, Y = pyburn.randn(8, 4), pyburn.randn(8, 2)


class Setting:
    """A small model with its step, compiled; and a copy that runs as Python."""

    def __init__(self, dropout=0.0, optimizer=optim.Adam):
        pyburn.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Dropout(dropout), nn.Linear(6, 2))
        self.model, self.reference = model, copy.deepcopy(model)
        self.optimizer = optimizer(model.parameters(), lr=0.01)
        self.reference_optimizer = optimizer(self.reference.parameters(), lr=0.01)
        self.step = pyburn.compile(self.make(model, self.optimizer))
        self.python = self.make(self.reference, self.reference_optimizer)

    def make(self, model, optimizer):
        def step(x, y):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    def both(self, x=X, y=Y, times=5):
        for _ in range(times):
            state = pyburn.get_rng_state()
            a = self.step(x, y)
            pyburn.set_rng_state(state)
            b = self.python(x, y)
            assert a.item() == b.item()
        for p, q in zip(self.model.parameters(), self.reference.parameters()):
            assert p.tolist() == q.tolist()
            assert (p.grad is None) == (q.grad is None) and (p.grad is None or p.grad.tolist() == q.grad.tolist())

    def each(self, change):
        change(self.model)
        change(self.reference)


def test_new_shapes_are_compiled_too():
    s = Setting()
    s.both()
    s.both(X[:5], Y[:5])
    assert s.step.programs == 2
    s.both(times=1)
    assert s.step.runs == 3 + 3 + 0 or s.step.runs >= 5
    s.both(pyburn.randn(4, 8).T, Y)  # other strides
    assert s.step.programs == 3


def test_training_mode_is_part_of_the_program():
    s = Setting(dropout=0.5)
    s.both()
    s.each(lambda m: m.eval())
    s.both()
    s.each(lambda m: m.train())
    before = s.step.runs
    s.both()
    assert s.step.programs == 2 and s.step.runs == before + 5


def test_an_option_of_a_layer():
    s = Setting(dropout=0.5)
    s.both()
    s.each(lambda m: setattr(m[2], "p", 0.25))
    s.both()
    assert s.step.programs == 2


def test_a_frozen_parameter():
    s = Setting()
    s.both()
    s.each(lambda m: m[0].weight.requires_grad_(False))
    for o in (s.optimizer, s.reference_optimizer):
        o.zero_grad()
    s.both()
    assert s.model[0].weight.grad is None
    assert s.step.programs == 2


def test_a_parameter_that_is_replaced():
    s = Setting(optimizer=optim.SGD)
    s.both()
    fresh = pyburn.randn(2, 6)
    s.each(lambda m: setattr(m[3].weight, "data", fresh.clone()))
    s.both()
    assert s.step.programs == 2


def test_a_layer_that_is_replaced():
    s = Setting(optimizer=optim.SGD)
    s.both()
    layer = nn.Linear(6, 2)
    s.each(lambda m: m.__setitem__(3, copy.deepcopy(layer)))
    s.both()  # the optimizers keep the old parameters, whose gradients are None after zero_grad
    assert s.step.programs == 2


def test_loaded_states():
    s = Setting()
    s.both()
    state = copy.deepcopy(s.model.state_dict()), copy.deepcopy(s.optimizer.state_dict())
    s.both()
    for model, optimizer in ((s.model, s.optimizer), (s.reference, s.reference_optimizer)):
        model.load_state_dict(state[0])
        optimizer.load_state_dict(state[1])
    s.both()
    assert s.step.programs == 2  # the optimizer has new tensors


def test_grad_and_autocast_modes():
    model = nn.Linear(4, 2)
    f = pyburn.compile(lambda x: model(x))
    with pyburn.no_grad():
        for _ in range(4):
            assert f(X).tolist() == model(X).tolist()
        assert f.programs == 1
        with pyburn.amp.autocast("cpu", dtype=pyburn.bfloat16):
            for _ in range(4):
                assert f(X).dtype == pyburn.bfloat16
        assert f.programs == 2
    f(X)
    with pytest.warns(UserWarning, match="a result requires a gradient"):
        y = f(X)
    y.sum().backward()  # runs as Python where a gradient may be wanted
    assert model.weight.grad is not None


def test_numbers_in_arguments_and_closures():
    scale = 2.0
    config = {"shift": 1.0}

    @pyburn.compile
    def f(x, power):
        return x**power * scale + config["shift"]

    for _ in range(4):
        assert f(X, 2).tolist() == (X**2 * 2.0 + 1.0).tolist()
    assert f.runs > 0
    for _ in range(4):
        assert f(X, 3).tolist() == (X**3 * 2.0 + 1.0).tolist()
    scale = 3.0
    for _ in range(4):
        assert f(X, 3).tolist() == (X**3 * 3.0 + 1.0).tolist()
    config["shift"] = 0.5
    for _ in range(4):
        assert f(X, 3).tolist() == (X**3 * 3.0 + 0.5).tolist()
    assert f.programs == 4


def test_reading_a_value_falls_back_with_the_line():
    @pyburn.compile
    def f(x):
        y = x * 2
        if y.sum() > 0:  # the line
            return y
        return -y

    f(X)  # what a first call does may be filling a cache
    with pytest.warns(UserWarning, match=r"f runs as Python: the value of a tensor of shape \(\) is read at .*test_compiled_guards.py:\d+"):
        assert f(X.abs()).tolist() == (X.abs() * 2).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one warning, not one per call
        assert f(-X.abs()).tolist() == (X.abs() * 2).tolist()
    assert "is read at" in f.explain() and f.programs == 0


@pytest.mark.parametrize("read", [lambda x: x.item(), lambda x: x.tolist(), lambda x: x.numpy(), lambda x: repr(x), float, bool])
def test_every_read_is_noticed(read):
    @pyburn.compile
    def f(x):
        read(x.sum())
        return x + 1

    with pytest.warns(UserWarning, match="is read at"):
        for _ in range(3):
            f(X)
    assert f.programs == 0


def test_numbers_that_change_by_themselves():
    def f(x):
        return x * random.random()

    compiled = pyburn.compile(f)
    random.seed(0)
    wanted = [f(X).tolist() for _ in range(10)]
    random.seed(0)
    with pytest.warns(UserWarning, match="arguments of operation 0 change from call to call: mul"):
        assert [compiled(X).tolist() for _ in range(10)] == wanted


def test_tensors_made_of_changing_numbers():
    def f(x):
        return x * pyburn.tensor([random.random()])

    compiled = pyburn.compile(f)
    random.seed(0)
    wanted = [f(X).tolist() for _ in range(10)]
    random.seed(0)
    with pytest.warns(UserWarning, match="is another one in each call"):
        assert [compiled(X).tolist() for _ in range(10)] == wanted


def test_tensors_made_anew_with_the_same_elements_are_constants():
    f = pyburn.compile(lambda x: x * pyburn.tensor([1.0, 2.0, 3.0, 4.0]))
    for _ in range(4):
        assert f(X).tolist() == (X * pyburn.tensor([1.0, 2.0, 3.0, 4.0])).tolist()
    assert f.programs == 1


def test_counters():
    class Trainer:
        def __init__(self):
            self.calls = 0

        def step(self, x):
            self.calls += 1
            return x * 2

    trainer = Trainer()
    f = pyburn.compile(trainer.step)
    with pytest.warns(UserWarning, match="self.calls changes from call to call"):
        for _ in range(12):
            f(X)
    assert trainer.calls == 12

    count = 0

    def g(x):
        nonlocal count
        count += 1
        return x * 2

    h = pyburn.compile(g)
    with pytest.warns(UserWarning, match="it assigns the variable 'count'"):
        for _ in range(5):
            h(X)
    assert count == 5


def test_lists_that_grow():
    seen = []

    def f(x):
        y = x * 2
        seen.append(y)
        return y

    compiled = pyburn.compile(f)
    with pytest.warns(UserWarning, match="seen changes from call to call"):
        for _ in range(12):
            compiled(X)
    assert len(seen) == 12


def test_attributes_of_modules():
    class Stateful(nn.Module):
        def forward(self, x):
            self.last = x.detach()
            return x * 2

    f = pyburn.compile(Stateful())
    with pytest.warns(UserWarning, match="sets attributes of modules"):
        f(X)
        f(X)


def test_sizes_that_depend_on_values():
    f = pyburn.compile(lambda x: x[x > 0])
    with pytest.warns(UserWarning, match="depends on values"):
        for _ in range(3):
            assert f(X).tolist() == X[X > 0].tolist()


def test_arguments_that_are_written_or_differentiated():
    def double(x):
        x.mul_(2)
        return x

    f = pyburn.compile(double)
    x = pyburn.ones(3)
    with pytest.warns(UserWarning, match="writes to an argument"):
        for _ in range(4):
            assert f(x) is x
    assert x.tolist() == [16.0] * 3

    g = pyburn.compile(lambda x: (x * 2).sum())
    g(pyburn.ones(3, requires_grad=True))
    with pytest.warns(UserWarning, match="an argument requires a gradient"):
        g(pyburn.ones(3, requires_grad=True)).backward()


def test_errors_of_the_step():
    def f(x):
        if x.shape[0] == 3:
            raise KeyError("three")
        return x @ x

    compiled = pyburn.compile(f)
    with pytest.raises(KeyError):
        compiled(pyburn.ones(3, 3))
    for _ in range(4):
        compiled(pyburn.ones(2, 2))
    with pytest.raises(pyburn.ShapeError):
        compiled(pyburn.ones(2, 5))
    assert (pyburn.ones(2) + 1).tolist() == [2.0, 2.0]  # nothing is recorded any more
    assert compiled.programs == 1


def test_two_steps_on_the_same_parameters():
    """As the two networks of a GAN: what one step only reads, the other one writes."""

    def build(wrap):
        pyburn.manual_seed(3)
        maker, critic = nn.Linear(3, 4), nn.Linear(4, 1)
        o1, o2 = optim.Adam(maker.parameters(), lr=0.01), optim.Adam(critic.parameters(), lr=0.01)

        def train_critic(z, real):
            o2.zero_grad()
            loss = critic(maker(z).detach()).mean() - critic(real).mean()
            loss.backward()
            o2.step()
            return loss

        def train_maker(z):
            o1.zero_grad()
            loss = -critic(maker(z)).mean()
            loss.backward()
            o1.step()
            return loss

        return wrap(train_critic), wrap(train_maker)

    z, real = pyburn.randn(5, 3), pyburn.randn(5, 4)
    losses = []
    for wrap in (lambda f: f, pyburn.compile):
        a, b = build(wrap)
        losses.append([(a(z, real).item(), b(z).item()) for _ in range(20)])
    assert losses[0] == losses[1]
    assert a.runs > 10 and b.runs > 10


def test_resuming_gives_the_same_bits():
    s = Setting(dropout=0.5)
    for _ in range(6):
        s.step(X, Y)
    saved = copy.deepcopy((s.model.state_dict(), s.optimizer.state_dict())), pyburn.get_rng_state()
    wanted = [s.step(X, Y).item() for _ in range(6)]
    again = Setting(dropout=0.5)
    again.model.load_state_dict(saved[0][0])
    again.optimizer.load_state_dict(saved[0][1])
    pyburn.set_rng_state(saved[1])
    assert [again.step(X, Y).item() for _ in range(6)] == wanted


def test_versions_follow_the_writes():
    s = Setting()
    for _ in range(5):
        s.step(X, Y)
    weight = s.model[3].weight
    y = (weight * weight).sum()
    s.step(X, Y)
    assert s.step.runs > 0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_results_of_every_form():
    class Pair:
        def __init__(self, a):
            self.a = a

    f = pyburn.compile(lambda x: {"a": x + 1, "b": (x, 3, [x * 2, None])})
    for _ in range(4):
        result = f(X)
        assert result["a"].tolist() == (X + 1).tolist()
        assert result["b"][0] is X and result["b"][1] == 3 and result["b"][2][1] is None
    assert f.programs == 1
    g = pyburn.compile(lambda x: Pair(x + 1))
    g(X)
    with pytest.warns(UserWarning, match="object of type Pair"):
        assert isinstance(g(X), Pair)


def test_results_are_independent_tensors():
    f = pyburn.compile(lambda x: x + 1)
    kept = [f(X + i) for i in range(6)]
    for i, y in enumerate(kept):
        assert y.tolist() == (X + i + 1).tolist()


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
    with pytest.warns(UserWarning, match=r"it calls print\(\) \(.*test_compiled_guards.py"):
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
    import threading

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
