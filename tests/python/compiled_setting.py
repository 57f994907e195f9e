"""A training step, compiled and as Python, side by side."""

from __future__ import annotations

import copy

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
