"""State of sessions: what a model writes to its buffers belongs to a context; many threads share one session."""

from __future__ import annotations

import threading

import pytest

import pyburn
from pyburn import inference, nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", pyburn.zeros(1))

    def forward(self, x):
        self.count += 1
        return x * self.count


@pytest.mark.parametrize("device", ["cpu", "fusion(cpu)"])
def test_contexts_have_states_of_their_own(device):
    model = Counter().to(device)
    session = inference.compile(model, pyburn.ones(1).to(device))
    one = pyburn.ones(1).to(device)
    first, second = session.new_context(), session.new_context()
    assert [int(first(one)) for _ in range(3)] == [1, 2, 3]
    assert int(second(one)) == 1 and int(session(one)) == 1
    first.reset()
    assert int(first(one)) == 1 and int(second(one)) == 2
    assert list(first.state) == ["count"] and int(second.state["count"]) == 2
    session.reset()
    assert int(session(one)) == 1
    assert int(model.count) == 0


def test_running_statistics_in_a_session():
    pyburn.manual_seed(0)
    model = nn.BatchNorm1d(3)
    session = inference.compile(model, pyburn.randn(4, 3))
    fresh = nn.BatchNorm1d(3)
    for _ in range(3):
        x = pyburn.randn(4, 3)
        assert pyburn.allclose(session(x), fresh(x).detach(), atol=1e-5)
    assert pyburn.allclose(session.state["running_mean"], fresh.running_mean, atol=1e-6)
    assert model.running_mean.tolist() == [0, 0, 0]


class Attention(nn.Module):
    """One head with a cache of keys and values, written at a position that is a tensor."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("keys", pyburn.zeros(length, width))
        self.register_buffer("values", pyburn.zeros(length, width))

    def forward(self, x, position):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        self.keys.index_copy_(0, position, k)
        self.values.index_copy_(0, position, v)
        seen = pyburn.arange(self.keys.shape[0]) <= position
        scores = (q @ self.keys.T / k.shape[-1] ** 0.5).masked_fill(~seen, float("-inf"))
        return scores.softmax(-1) @ self.values


class Decoder(nn.Module):
    def __init__(self, words: int = 11, width: int = 16, length: int = 12, layers: int = 2) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([Attention(width, length) for _ in range(layers)])
        self.head = nn.Linear(width, words)

    def forward(self, token, position):
        x = self.embed(token) + self.place(position)
        for layer in self.layers:
            x = x + layer(x, position)
        return self.head(x)


def decode(step, steps):
    token, tokens = pyburn.tensor([3]), []
    for i in range(steps):
        token = step(token, pyburn.tensor([i])).argmax(-1)
        tokens.append(int(token))
    return tokens


def test_a_decoder_with_a_cache_follows_eager():
    pyburn.manual_seed(1)
    model = Decoder().eval()
    session = inference.compile(model, pyburn.tensor([0]), pyburn.tensor([0]))
    with pyburn.no_grad():
        expected = decode(model, 10)
    assert len(set(expected)) > 1
    assert decode(session, 10) == expected

    found = {}

    def work(name):
        context = session.new_context()
        found[name] = [decode(context, 10) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(runs[0] == expected for runs in found.values())
