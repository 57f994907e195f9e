"""Compiled training steps leave exactly what the Python code leaves: losses, parameters, buffers, gradients, optimizer state, generator."""

from __future__ import annotations

import pytest

import pyburn
from pyburn import nn, optim
from pyburn.nn import functional as F

STEPS = 100


def randn(*shape, seed=0):
    return pyburn.randn(*shape, generator=pyburn.Generator().manual_seed(seed))


def labels(n, classes, seed=0):
    return pyburn.randint(0, classes, (n,), generator=pyburn.Generator().manual_seed(seed))


def supervised(model, optimizer, loss_fn=F.cross_entropy):
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


class Case:
    """A model with an optimizer and a step, made twice from one seed."""

    def __init__(self, build, data, *, compiled, steps=STEPS, between=None):
        pyburn.manual_seed(0)
        self.model, self.optimizer, step, *rest = build()
        self.step = pyburn.compile(step) if compiled else step
        pyburn.manual_seed(1)
        self.results = []
        for i in range(steps):
            result = self.step(*data[i % len(data)])
            self.results.append(result.detach().clone())
            if between is not None:
                between(i, self, *rest)
        self.next_number = pyburn.rand(1)


def assert_same(name, a, b):
    assert (a is None) == (b is None), name
    if a is None:
        return
    assert a.shape == b.shape and a.dtype == b.dtype, name
    assert bool(((a == b) | ((a != a) & (b != b))).all()), name


def compare(build, data, *, programs=1, steps=STEPS, between=None):
    eager = Case(build, data, compiled=False, steps=steps, between=between)
    compiled = Case(build, data, compiled=True, steps=steps, between=between)
    assert compiled.step.programs == programs, compiled.step.explain()
    assert compiled.step.runs >= steps - 8, compiled.step.explain()
    for i, (a, b) in enumerate(zip(eager.results, compiled.results)):
        assert_same(f"result {i}", a, b)
    for (name, a), b in zip(eager.model.named_parameters(), compiled.model.parameters()):
        assert_same(name, a, b)
        assert_same(f"{name}.grad", a.grad, b.grad)
    for (name, a), b in zip(eager.model.named_buffers(), compiled.model.buffers()):
        assert_same(name, a, b)
    assert len(eager.optimizer.state) == len(compiled.optimizer.state)
    for a, b in zip(eager.optimizer.state.values(), compiled.optimizer.state.values()):
        assert list(a) == list(b)
        for key in a:
            assert_same(key, a[key], b[key])
    assert_same("the next random number", eager.next_number, compiled.next_number)
    return compiled


def mlp(dropout=0.0):
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 5))


MLP_DATA = [(randn(16, 20, seed=i), labels(16, 5, seed=i)) for i in range(4)]

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.05),
    "momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adamw": lambda p: optim.AdamW(p, lr=0.01, amsgrad=True),
    "nadam": lambda p: optim.NAdam(p, lr=0.01),
    "radam": lambda p: optim.RAdam(p, lr=0.01),
    "adamax": lambda p: optim.Adamax(p, lr=0.01),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.01),
    "adadelta": lambda p: optim.Adadelta(p),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.001, momentum=0.5, centered=True),
    "rprop": lambda p: optim.Rprop(p, lr=0.001),
    "asgd": lambda p: optim.ASGD(p, lr=0.01),
    "lion": lambda p: optim.Lion(p, lr=0.001),
    "adan": lambda p: optim.Adan(p, lr=0.001),
    "clipped": lambda p: optim.Adam(p, lr=0.01, grad_clip=optim.GradientClipping.by_norm(0.1)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    def build():
        model = mlp(dropout=0.2)
        optimizer = OPTIMIZERS[name](model.parameters())
        return model, optimizer, supervised(model, optimizer)

    compare(build, MLP_DATA, steps=30)


def test_dropout_schedule_and_clipping():
    def build():
        model = mlp(dropout=0.3)
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
        schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=STEPS)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss

        return model, optimizer, step, schedule

    compare(build, MLP_DATA, between=lambda i, case, schedule: i + 1 < STEPS and schedule.step())


def test_parameter_groups_and_a_learning_rate_that_is_a_tensor():
    def build():
        model = mlp()
        optimizer = optim.Adam(
            [{"params": model[0].parameters(), "lr": pyburn.tensor(0.02)}, {"params": model[3].parameters(), "weight_decay": 0.1}], lr=0.01
        )
        return model, optimizer, supervised(model, optimizer)

    def between(i, case):
        case.optimizer.param_groups[0]["lr"].mul_(0.98)

    compare(build, MLP_DATA, between=between)


def test_accumulation_in_two_functions_of_one_argument():
    def build():
        model = mlp(dropout=0.1)
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def step(x, y, last):
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()
            return loss

        return model, optimizer, step

    # The first backward pass after zero_grad() makes gradients, the others add to them.
    data = [(*MLP_DATA[i], i == 3) for i in range(4)]
    compiled = compare(build, data, programs=3, steps=97)
    assert all(p.grad is not None for p in compiled.model.parameters())


def test_gradients_set_to_zero():
    def build():
        model = mlp()
        optimizer = optim.SGD(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad(set_to_none=False)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return model, optimizer, step

    compiled = compare(build, MLP_DATA)
    gradient = compiled.model[0].weight.grad
    compiled.step(*MLP_DATA[0])
    assert compiled.model[0].weight.grad is gradient  # added in place


def test_convolutions_with_running_statistics():
    def build():
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1, stride=2),
            nn.BatchNorm2d(16), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16, 5),
        )  # fmt: skip
        optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        return model, optimizer, supervised(model, optimizer)

    compare(build, [(randn(8, 3, 12, 12, seed=i), labels(8, 5, seed=i)) for i in range(3)])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(17, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 5)

    def forward(self, tokens):
        x = self.embed(tokens) * 4.0 + pyburn.arange(tokens.shape[1])[:, None] * 0.01
        return self.head(self.encoder(x).mean(dim=1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(6, 12, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class GraphNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 16), nn.Linear(16, 5)

    def forward(self, x, edges, weight):
        for layer in (self.first, self.second):
            x = layer(x)
            messages = x.index_select(0, edges[0]) * weight[:, None]
            x = pyburn.zeros_like(x).index_add(0, edges[1], messages).relu()
        return x


def test_transformer():
    def build():
        model = Transformer()
        optimizer = optim.AdamW(model.parameters(), lr=0.003)
        return model, optimizer, supervised(model, optimizer)

    compare(build, [(pyburn.randint(0, 17, (4, 7)), labels(4, 5, seed=i)) for i in range(3)])


def test_lstm():
    def build():
        model = Recurrent()
        optimizer = optim.Adam(model.parameters(), lr=0.003)
        return model, optimizer, supervised(model, optimizer)

    compare(build, [(randn(4, 9, 6, seed=i), labels(4, 5, seed=i)) for i in range(3)])


def test_graph_network():
    edges = pyburn.randint(0, 10, (2, 40))

    def build():
        model = GraphNetwork()
        optimizer = optim.Adam(model.parameters(), lr=0.003)

        def step(x, edges, weight, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x, edges, weight), y)
            loss.backward()
            optimizer.step()
            return loss

        return model, optimizer, step

    compare(build, [(randn(10, 6, seed=i), edges, randn(40, seed=i).abs(), labels(10, 5, seed=i)) for i in range(3)])


def test_mixed_precision():
    def build():
        model = mlp(dropout=0.1)
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            with pyburn.amp.autocast("cpu", dtype=pyburn.bfloat16):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return model, optimizer, step

    compare(build, MLP_DATA)
