"""Models train on wgpu as they do on the CPU: the same seed gives the same losses and weights, within rounding."""

import pytest

import pyburn
from pyburn import nn


class Normed(nn.Module):
    """Convolutions with batch norm, pooling, and group norm."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 12, 3, stride=2, padding=1, groups=4),
            nn.GroupNorm(3, 12),
            nn.GELU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.classify = nn.Linear(48, 5)

    def forward(self, x):
        return self.classify(self.features(x).flatten(1))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.block = nn.TransformerEncoderLayer(16, 4, dim_feedforward=32, dropout=0.0, batch_first=True)
        self.classify = nn.Linear(16, 5)

    def forward(self, tokens):
        return self.classify(self.block(self.embed(tokens)).mean(1))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = kind(6, 9, num_layers=2, bidirectional=True, batch_first=True)
        self.classify = nn.Linear(18, 5)

    def forward(self, x):
        return self.classify(self.layer(x)[0][:, -1])


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.LayerNorm(40), nn.Linear(40, 5)), lambda: pyburn.randn(16, 12)),
    "cnn": (Normed, lambda: pyburn.randn(6, 1, 16, 14)),
    "transformer": (Transformer, lambda: pyburn.randint(0, 20, (4, 7))),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda: pyburn.randn(5, 8, 6)),
    "gru": (lambda: Recurrent(nn.GRU), lambda: pyburn.randn(5, 8, 6)),
    "rnn": (lambda: Recurrent(nn.RNN), lambda: pyburn.randn(5, 8, 6)),
}


def train(device, make, data, optimizer, steps=5):
    pyburn.manual_seed(3)
    model = make().to(device)
    x = data().to(device)
    target = pyburn.randint(0, 5, (x.shape[0],)).to(device)
    optimise = optimizer(model.parameters())
    losses = []
    for _ in range(steps):
        optimise.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimise.step()
        losses.append(loss.item())
    return losses, {name: value.to("cpu") for name, value in model.state_dict().items()}


@pytest.mark.parametrize("name", MODELS)
def test_training_follows_the_cpu(gpu, name):
    def sgd(parameters):
        return pyburn.optim.SGD(parameters, lr=0.1, momentum=0.9)

    expected, weights = train("cpu", *MODELS[name], sgd)
    losses, trained = train(gpu, *MODELS[name], sgd)
    assert losses == pytest.approx(expected, rel=1e-3)
    assert losses[-1] < losses[0]
    for key, value in weights.items():
        assert pyburn.allclose(trained[key].float(), value.float(), rtol=1e-2, atol=2e-4), key


def test_adam_follows_the_cpu(gpu):
    def adam(parameters):
        return pyburn.optim.AdamW(parameters, lr=0.01)

    expected, _ = train("cpu", *MODELS["mlp"], adam)
    losses, _ = train(gpu, *MODELS["mlp"], adam)
    assert losses == pytest.approx(expected, rel=1e-3)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("cell", ["lstm", "gru", "tanh", "relu"])
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrent_steps_and_their_gradients(gpu, cell, reverse):
    gates = {"lstm": 4, "gru": 3}.get(cell, 1)
    pyburn.manual_seed(1)
    given = [pyburn.randn(6, 5, gates * 7), pyburn.randn(gates * 7, 7) / 3, pyburn.randn(gates * 7), pyburn.randn(5, 7)]
    if cell == "lstm":
        given.append(pyburn.randn(5, 7))
    found = []
    for device in ("cpu", gpu):
        placed = [x.detach().to(device) for x in given]
        for x in placed:
            x.requires_grad = True
        results = pyburn.rnn_steps(*placed, *([] if cell == "lstm" else [None]), cell, reverse)
        total = sum((r * pyburn.linspace(-1, 1, r.numel()).to(device).reshape(r.shape)).sum() for r in results[:2] if r.numel())
        gradients = pyburn.autograd.grad(total, placed)
        found.append([x.detach().to("cpu") for x in (*results, *gradients)])
    for expected, actual in zip(*found):
        assert pyburn.allclose(actual, expected, rtol=1e-4, atol=1e-4)


def test_nothing_ran_on_the_cpu(gpu):
    """The layers above have kernels: none is computed on copies in host memory."""
    before = pyburn.backend.gpu.counters(gpu).host_calls
    for name in MODELS:
        train(gpu, *MODELS[name], lambda parameters: pyburn.optim.SGD(parameters, lr=0.1, momentum=0.9), steps=1)
    assert pyburn.backend.gpu.counters(gpu).host_calls == before
