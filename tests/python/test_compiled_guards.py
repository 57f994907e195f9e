"""What compiled steps do when something changes."""

from __future__ import annotations

import copy
import random
import warnings

import pytest

import pyburn
from pyburn import nn, optim

from .compiled_setting import Setting, X, Y


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
