"""Learning-rate schedulers: PyTorch's rates, state dicts, warnings, messages; schedules as functions; curves."""

from __future__ import annotations

import copy
import gzip
import json
import math
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pyburn
import pyburn.compat
from pyburn import lr_scheduler, nn, optim
from pyburn.lr_scheduler import Schedule

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
import optim_cases

GOLDEN = json.loads(gzip.decompress((Path(__file__).parent.parent / "golden" / "optim.json.gz").read_bytes()))["schedulers"]
CASES = list(zip(optim_cases.SCHEDULERS, GOLDEN))
each_case = pytest.mark.parametrize("case", optim_cases.SCHEDULERS, ids=optim_cases.case_id)


def sgd(lr=1.0, **options):
    return optim.SGD([nn.Parameter(pyburn.ones(1))], lr=lr, **options)


def rates_of(scheduler, steps):
    found = [scheduler.get_last_lr()[0]]
    for _ in range(steps):
        scheduler.optimizer.step()
        scheduler.step()
        found.append(scheduler.get_last_lr()[0])
    return found


@pytest.mark.parametrize(("case", "expected"), CASES, ids=[optim_cases.case_id(case) for case, _ in CASES])
def test_rates_are_pytorchs(case, expected):
    assert json.loads(json.dumps(case[1])) == expected["options"], "run tools/make_optim_goldens.py"
    mine = optim_cases.run_scheduler(pyburn, *case)
    for key in ("rates", "momenta", "last"):
        np.testing.assert_allclose(mine[key], expected[key], rtol=1e-9, atol=1e-12, err_msg=key)


@each_case
def test_state_is_restored(case):
    """Saved in the middle, loaded into a fresh scheduler, which then does the rest."""
    name, options = case
    if any("lambda" in str(value) and "[" in str(value) for value in options.values()):
        return  # functions are not saved
    whole = optim_cases.run_scheduler(pyburn, name, options, 20)
    optimizer, scheduler = optim_cases.scheduler_setting(pyburn, name, options)

    def go(optimizer, scheduler, start, end):
        for step in range(start, end):
            optimizer.step()
            scheduler.step(*([optim_cases.metric(step)] if name == "ReduceLROnPlateau" else []))

    go(optimizer, scheduler, 0, 9)
    saved, groups = pickle.dumps(scheduler.state_dict()), copy.deepcopy(optimizer.state_dict())
    other_optimizer, other = optim_cases.scheduler_setting(pyburn, name, options)
    other_optimizer.load_state_dict(groups)
    other.load_state_dict(pickle.loads(saved))
    go(other_optimizer, other, 9, 20)
    np.testing.assert_allclose([g["lr"] for g in other_optimizer.param_groups], whole["rates"][20], rtol=1e-9)
    np.testing.assert_allclose(other.get_last_lr(), whole["last"], rtol=1e-9)


@each_case
def test_curves_leave_everything_as_it_is(case):
    name, options = case
    optimizer, scheduler = optim_cases.scheduler_setting(pyburn, name, options)
    before = repr(optimizer)
    metrics = [optim_cases.metric(step) for step in range(20)] if name == "ReduceLROnPlateau" else None
    curves = lr_scheduler.rates(scheduler, 20, metrics)
    assert repr(optimizer) == before
    whole = optim_cases.run_scheduler(pyburn, name, options, 20)["rates"]
    np.testing.assert_allclose(np.transpose(curves), whole[:20], rtol=1e-9, atol=1e-12)


def test_plot(tmp_path, capsys):
    scheduler = lr_scheduler.CosineAnnealingLR(sgd(), T_max=40)
    scheduler.plot(40)
    text = capsys.readouterr().out
    assert text.splitlines()[0].strip().startswith("1 ┤•") and text.count("•") >= 40 and "39" in text
    scheduler.plot(40, str(tmp_path / "curve.svg"))
    svg = (tmp_path / "curve.svg").read_text()
    assert svg.startswith("<svg") and svg.count("<polyline") == 1 and svg.rstrip().endswith("</svg>")
    lr_scheduler.plot(lambda step: 0.5, 3)
    assert "0.5" in capsys.readouterr().out
    lr_scheduler.plot(lambda step: float("inf") if step == 1 else float(step), 3)
    assert capsys.readouterr().out.count("•") == 2
    with pytest.raises(TypeError, match="metrics="):
        lr_scheduler.ReduceLROnPlateau(sgd()).plot()
    with pytest.raises(ValueError, match="at least one step"):
        scheduler.plot(0)


def test_closed_form_where_an_epoch_is_given():
    for name, options in optim_cases.SCHEDULERS:
        optimizer, scheduler = optim_cases.scheduler_setting(pyburn, name, options)
        if not hasattr(scheduler, "_get_closed_form_lr"):
            continue
        optimizer.step()
        with pytest.warns(UserWarning, match="epoch parameter"):
            scheduler.step(4)
        whole = optim_cases.run_scheduler(pyburn, name, options, 4)
        np.testing.assert_allclose(scheduler.get_last_lr(), whole["last"], rtol=1e-9, err_msg=name)


def test_restarts_take_fractions():
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(sgd(), T_0=4, T_mult=2)
    for epoch, height in ((0.5, 0.5 / 4), (5.0, 1 / 8), (11.5, 7.5 / 8), (13.0, 1 / 16)):
        scheduler.step(epoch)
        assert scheduler.get_last_lr()[0] == pytest.approx((1 + math.cos(math.pi * height)) / 2)
    with pytest.raises(ValueError, match="non-negative epoch"):
        scheduler.step(-1)


def test_resuming_by_last_epoch():
    """As in PyTorch: the constructor makes a step, which some schedulers let the rate move by."""
    optimizer = sgd(0.25)
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=3)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    assert lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=3).get_last_lr() == [0.25]
    assert lr_scheduler.StepLR(optimizer, 4, 0.5, last_epoch=3).get_last_lr() == [0.125]


def test_the_order_of_steps():
    optimizer = sgd()
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    optimizer = sgd()
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_the_rate_may_be_a_tensor():
    rate = pyburn.tensor(1.0)
    scheduler = lr_scheduler.StepLR(sgd(rate), 1, 0.5)
    assert rates_of(scheduler, 2)[-1].item() == 0.25 and rate.item() == 0.25


def test_schedulers_share_an_optimiser():
    optimizer = sgd()
    one, two = lr_scheduler.ExponentialLR(optimizer, 0.5), lr_scheduler.StepLR(optimizer, 2, 0.1)
    for _ in range(2):
        optimizer.step()
        one.step()
        two.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.025)


def test_beta1_is_cycled_too():
    optimizer = optim.Adam([nn.Parameter(pyburn.ones(1))])
    scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=11, pct_start=0.5)
    assert optimizer.param_groups[0]["betas"] == (0.95, 0.999)
    rates_of(scheduler, 4)
    assert optimizer.param_groups[0]["betas"][0] == pytest.approx(0.8526, abs=2e-3)


class Halving:
    def __init__(self):
        self.calls = 0

    def __call__(self, step):
        self.calls += 1
        return 0.5**step


def test_objects_that_are_called_are_saved():
    scheduler = lr_scheduler.LambdaLR(sgd(), Halving())
    rates_of(scheduler, 3)
    saved = scheduler.state_dict()
    assert saved["lr_lambdas"] == [{"calls": 4}]
    other = lr_scheduler.LambdaLR(sgd(), Halving())
    other.load_state_dict(saved)
    assert other.lr_lambdas[0].calls == 4 and other.last_epoch == 3
    assert lr_scheduler.LambdaLR(sgd(), lambda step: 1).state_dict()["lr_lambdas"] == [None]


# --- schedules as functions, after Burn ---


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Schedule.constant(0.5), [0.5, 0.5, 0.5]),
        (Schedule.linear(0.0, 1.0, steps=2), [0, 0.5, 1, 1]),
        (Schedule.cosine(1.0, 0.5, steps=2), [1, 0.75, 0.5, 0.75, 1]),
        (Schedule.exponential(1.0, 0.5), [1, 0.5, 0.25]),
        (Schedule.step(1.0, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
        (Schedule.noam(2.0, warmup_steps=4, model_size=4), [0.125, 0.25, 0.375, 0.5, 1 / math.sqrt(5)]),
        (Schedule.multi_step([1, 3], 0.5), [1, 0.5, 0.5, 0.25]),
        (Schedule.polynomial(4, 2.0), [1, 0.5625, 0.25, 0.0625, 0, 0]),
        (Schedule.cosine_restarts(1.0, 0.0, 2, 2), [1, 0.5, 1, (1 + math.sqrt(0.5)) / 2, 0.5]),
        (Schedule.linear(0.0, 1.0, steps=2) * Schedule.constant(0.5), [0, 0.25, 0.5]),
        (Schedule.constant(1.0) + Schedule.exponential(1.0, 0.5), [2, 1.5, 1.25]),
        (Schedule.average([Schedule.constant(1.0), Schedule.constant(2.0)]), [1.5]),
        (Schedule.sequential([Schedule.constant(1.0), Schedule.exponential(1.0, 0.5)], [2]), [1, 1, 1, 0.5]),
    ],
)
def test_schedules(schedule, expected):
    assert [schedule(step) for step in range(len(expected))] == pytest.approx(expected)


def test_a_schedule_drives_an_optimiser():
    rate = Schedule.linear(0.0, 1.0, steps=2)
    assert rates_of(lr_scheduler.ScheduledLR(sgd(7.0), rate), 2) == [0.0, 0.5, 1.0]
    assert rates_of(lr_scheduler.LambdaLR(sgd(2.0), rate), 2) == [0.0, 1.0, 2.0]
    assert rates_of(lr_scheduler.NoamLR(sgd(), model_size=4, warmup_steps=4, factor=2.0), 3) == pytest.approx([0.125, 0.25, 0.375, 0.5])


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda: lr_scheduler.StepLR(3, 1), TypeError, "int is not an Optimizer"),
        (lambda: lr_scheduler.StepLR(sgd(), 0), ValueError, "step_size"),
        (lambda: lr_scheduler.LambdaLR(sgd(), [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda: lr_scheduler.MultiplicativeLR(sgd(), 3), TypeError, "should be a function, but got int"),
        (lambda: lr_scheduler.ConstantLR(sgd(), 2.0), ValueError, "between 0 and 1"),
        (lambda: lr_scheduler.LinearLR(sgd(), 0.0), ValueError, "Starting multiplicative factor"),
        (lambda: lr_scheduler.LinearLR(sgd(), 1.0, 2.0), ValueError, "Ending multiplicative factor"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 0), ValueError, "positive integer T_0"),
        (lambda: lr_scheduler.CosineAnnealingWarmRestarts(sgd(), 1, 0), ValueError, "T_mult >= 1"),
        (lambda: lr_scheduler.CyclicLR(sgd(), 0.1, 1.0, mode="other"), ValueError, "mode is invalid"),
        (lambda: lr_scheduler.CyclicLR(sgd(), [0.1, 0.2], 1.0), ValueError, "base_lr must have the same length"),
        (
            lambda: lr_scheduler.CyclicLR(optim.Adagrad([nn.Parameter(pyburn.ones(1))]), 0.1, 1.0),
            ValueError,
            "must support momentum or beta1",
        ),
        (lambda: lr_scheduler.OneCycleLR(sgd(), 1.0), ValueError, "either total_steps OR"),
        (lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, total_steps=0), ValueError, "positive integer total_steps"),
        (lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, total_steps=5, pct_start=2.0), ValueError, "between 0 and 1 pct_start"),
        (lambda: lr_scheduler.OneCycleLR(sgd(), 1.0, total_steps=5, anneal_strategy="x"), ValueError, "'cos' or 'linear'"),
        (lambda: rates_of(lr_scheduler.OneCycleLR(sgd(), 1.0, total_steps=3), 4), ValueError, "Tried to step 4 times"),
        (lambda: lr_scheduler.ReduceLROnPlateau(sgd(), factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda: lr_scheduler.ReduceLROnPlateau(sgd(), mode="other"), ValueError, "mode other is unknown"),
        (lambda: lr_scheduler.ReduceLROnPlateau(sgd(), threshold_mode="other"), ValueError, "threshold mode other is unknown"),
        (lambda: lr_scheduler.ReduceLROnPlateau(sgd(), min_lr=[0, 0]), ValueError, "expected 1 min_lrs, got 2"),
        (lambda: lr_scheduler.SequentialLR(sgd(), [], []), ValueError, "at least one scheduler"),
        (lambda: lr_scheduler.SequentialLR(sgd(), [lr_scheduler.StepLR(sgd(), 1)], []), ValueError, "same optimizer"),
        (lambda: lr_scheduler.ChainedScheduler([]), ValueError, "at least one scheduler"),
        (lambda: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(sgd())]), ValueError, "ReduceLROnPlateau"),
        (lambda: Schedule.linear(0.0, 1.0, steps=0), ValueError, "must be positive"),
        (lambda: Schedule.sequential([Schedule.constant(1.0)], [1]), ValueError, "one milestone less"),
        (lambda: Schedule.sequential([Schedule.constant(1.0)] * 3, [2, 1]), ValueError, "must be increasing"),
        (lambda: Schedule.product([]), ValueError, "at least one schedule"),
    ],
)
def test_mistakes(act, error, text):
    with pytest.raises(error, match=text):
        act()


def test_both_names():
    assert lr_scheduler.StepLR is optim.lr_scheduler.StepLR and set(lr_scheduler.__all__) == set(optim.lr_scheduler.__all__)


def test_one_cycle_saves_its_phases_as_pytorch() -> None:
    optimizer = pyburn.optim.SGD([nn.Parameter(pyburn.ones(1))], lr=0.1, momentum=0.9)
    scheduler = pyburn.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=20, pct_start=0.25, three_phase=True)
    assert scheduler.state_dict()["_schedule_phases"][1] == {
        "end_step": 8.0,
        "start_lr": "max_lr",
        "end_lr": "initial_lr",
        "start_momentum": "base_momentum",
        "end_momentum": "max_momentum",
    }
    expected = pyburn.lr_scheduler.rates(scheduler, 20)
    other = pyburn.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10)
    other.load_state_dict(scheduler.state_dict())
    assert pyburn.lr_scheduler.rates(other, 20) == expected


def test_a_step_that_was_replaced_is_warned_of() -> None:
    optimizer = pyburn.optim.SGD([nn.Parameter(pyburn.ones(1))], lr=0.1)
    scheduler = pyburn.optim.lr_scheduler.StepLR(optimizer, 3)
    own = optimizer.step
    optimizer.step = lambda *args: own(*args)  # type: ignore[method-assign]
    optimizer.step()
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        scheduler.step()
    assert "step" not in scheduler.state_dict()
