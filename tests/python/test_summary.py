"""pyburn.summary: the table, and what it counts."""

from __future__ import annotations

import pytest

import pyburn
from pyburn import nn


def small():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 10, bias=False))


def test_the_table():
    found = pyburn.summary(small(), (2, 3, 4, 4))
    assert (
        str(found)
        == repr(found)
        == (
            "Layer (type)       Output Shape  Param #  Mult-Adds\n"
            "===================================================\n"
            "Sequential         [2, 10]         1,520      9,472\n"
            "  Conv2d (0)       [2, 8, 4, 4]      224      6,912\n"
            "  BatchNorm2d (1)  [2, 8, 4, 4]       16         --\n"
            "  ReLU (2)         [2, 8, 4, 4]       --         --\n"
            "  Flatten (3)      [2, 128]           --         --\n"
            "  Linear (4)       [2, 10]         1,280      2,560\n"
            "===================================================\n"
            "Total params: 1,520\n"
            "Trainable params: 1,520\n"
            "Non-trainable params: 0\n"
            "Total mult-adds: 9,472\n"
            "---------------------------------------------------\n"
            "Input size: 0.00 MiB\n"
            "Forward pass size: 0.00 MiB\n"
            "Params size: 0.01 MiB\n"
            "Estimated total size: 0.01 MiB"
        )
    )
    assert found.total_mult_adds == 2 * 8 * 16 * 27 + 2 * 128 * 10
    assert found.input_bytes == 2 * 3 * 16 * 4 and found.param_bytes == (1520 + 8 + 8) * 4 + 8
    assert found.output_bytes == 4 * (3 * 256 + 256 + 20)


def test_a_summary_leaves_the_model_alone():
    model = small()
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = pyburn.get_rng_state()
    pyburn.summary(model, pyburn.ones(2, 3, 4, 4), mode="train")
    assert pyburn.get_rng_state() == state
    assert all(pyburn.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [m.training for m in model.modules()] == [True, True, False, True, True, True]
    assert not model._forward_hooks and not model[0]._forward_pre_hooks
    assert model(pyburn.ones(2, 3, 4, 4)).isfinite().all().item()


def test_frozen_and_repeated_layers():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.frozen = nn.Linear(4, 1).requires_grad_(False)

        def forward(self, x, y=None):
            return {"out": self.frozen(self.layer(self.layer(x))), "two": (x, y)}

    found = pyburn.summary(Twice(), (2, 4))
    assert (found.total_params, found.trainable_params, found.non_trainable_params) == (25, 20, 5)
    assert [layer.is_repeated for layer in found.layers] == [False, False, True, False]
    assert found.total_mult_adds == 2 * 2 * 16 + 8 and "(recursive)" in str(found)
    assert found.layers[0].output_shape == [[2, 1], [2, 4]]
    assert [layer.depth for layer in found.layers] == [0, 1, 1, 1]
    assert len(str(pyburn.summary(Twice(), (2, 4), depth=0)).splitlines()) == len(str(found).splitlines()) - 3


def test_inputs():
    class Pair(nn.Module):
        def forward(self, a, b, *, scale=1):
            return a @ b * scale

    assert pyburn.summary(Pair(), [(2, 3), (3, 4)], scale=2).total_mult_adds == 24
    assert pyburn.summary(Pair(), (pyburn.ones(5, 2, 3), pyburn.ones(3, 4))).total_mult_adds == 120
    assert pyburn.summary(Pair(), input_size=[(2, 3), (3, 4)]).total_mult_adds == 24
    found = pyburn.summary(nn.Linear(2, 2).double(), (1, 2))
    assert found.input_bytes == 16
    with pytest.raises(ValueError, match="expected input tensors or their sizes"):
        pyburn.summary(Pair())
    with pytest.raises(ValueError, match="mode must be"):
        pyburn.summary(Pair(), (1, 2), mode="x")
    with pytest.raises(RuntimeError):
        pyburn.summary(nn.Linear(2, 2), (1, 3))


def test_models_that_read_values_are_computed():
    class Reads(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x) if (x * 0).sum().item() == 0 else x

    assert pyburn.summary(Reads(), (1, 2)).total_mult_adds == 4


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (lambda x, w: nn.functional.conv2d(x, w, groups=2), [(1, 4, 5, 5), (6, 2, 3, 3)], 6 * 9 * 18),
        (lambda x, w: nn.functional.conv1d(x, w), [(1, 4, 5), (6, 4, 3)], 6 * 3 * 12),
        (lambda x, w: nn.functional.conv_transpose2d(x, w), [(1, 4, 5, 5), (4, 6, 3, 3)], 100 * 54),
        (lambda q, k, v: nn.functional.scaled_dot_product_attention(q, k, v), [(1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8)], 2 * 5 * 7 * 16),
        (lambda a, b: pyburn.einsum("ij,jk->ik", a, b), [(2, 3), (3, 4)], 24),
        (lambda a: a.exp(), [(5,)], 0),
    ],
)
def test_operations(function, shapes, expected):
    class Call(nn.Module):
        def forward(self, *args):
            return function(*args)

    assert pyburn.summary(Call(), shapes).total_mult_adds == expected


def test_graphs_know_their_cost():
    graph = pyburn.inference.capture(small().eval(), pyburn.ones(2, 3, 4, 4))
    assert graph.multiply_adds == 9472
