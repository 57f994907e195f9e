"""Averaged models and batch norms of them."""

import copy

import numpy as np
import pytest

import pyburn
from pyburn import nn, optim
from pyburn.optim import swa_utils


def set_weight(model, value):
    with pyburn.no_grad():
        for p in model.parameters():
            p.fill_(value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (1.0 + 2.0 + 6.0) / 3),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, 3.0),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, 3.0),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.75)}, 0.75 * (0.75 + 0.5) + 1.5),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, 0.5 * 1.5 + 3),
        ({"avg_fn": lambda mean, value, n: mean + value * n}, 1 + 2 + 12),
    ],
)
def test_averages(options, expected):
    model = nn.Linear(2, 3)
    average = swa_utils.AveragedModel(model, **options)
    for value in (1.0, 2.0, 6.0):
        set_weight(model, value)
        average.update_parameters(model)
    assert average.n_averaged.item() == 3
    for p in average.module.parameters():
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-6)
    assert average(pyburn.ones(1, 2)).shape == (1, 3)
    assert list(average.state_dict()) == ["n_averaged", "module.weight", "module.bias"]
    assert copy.deepcopy(average).n_averaged.item() == 3


@pytest.mark.parametrize(("use_buffers", "expected"), [(False, 4.0), (True, 3.0)])
def test_buffers(use_buffers, expected):
    model = nn.BatchNorm2d(2)
    average = swa_utils.AveragedModel(model, use_buffers=use_buffers)
    for value in (2.0, 4.0):
        model.running_mean.fill_(value)
        average.update_parameters(model)
    assert average.module.running_mean.tolist() == [expected, expected]


def test_batch_norms_see_the_data_again():
    model = nn.Sequential(nn.BatchNorm2d(1))
    model.eval()
    data = [pyburn.full((2, 1, 2, 2), float(i)) for i in range(4)]
    swa_utils.update_bn([(x, "label") for x in data], model)
    assert model[0].running_mean.item() == pytest.approx(1.5) and model[0].momentum == 0.1 and not model.training
    swa_utils.update_bn(data, nn.Linear(1, 1))  # nothing to do


def test_mistakes():
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(nn.Linear(1, 1), avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
    optimizer = optim.SGD([nn.Parameter(pyburn.ones(1))])
    with pytest.raises(ValueError, match="'cos' or 'linear'"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="other")
    with pytest.raises(ValueError, match="anneal_epochs"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)
