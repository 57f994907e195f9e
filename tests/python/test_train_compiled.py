"""Learner(compile=True) gives what the Learner gives without it, bit for bit."""

from __future__ import annotations

import pytest

import pyburn
from pyburn import nn
from pyburn.data import DataLoader, TensorDataset
from pyburn.train import Callback, Learner, NonFiniteLoss


def parts(**options):
    pyburn.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 5))
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=0.01)
    schedule = pyburn.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=60)
    data = DataLoader(TensorDataset(pyburn.randn(100, 20), pyburn.randint(0, 5, (100,))), batch_size=16, shuffle=True)
    return Learner(model, optimizer, schedule, loss="cross_entropy", metrics=["accuracy"], **options), data


@pytest.mark.parametrize(
    "options",
    [{}, {"clip_norm": 0.5}, {"clip_value": 0.1, "accumulate": 3}, {"precision": "bfloat16"}, {"accumulate": 2, "clip_norm": 1.0}],
    ids=str,
)
def test_the_same_training(options):
    results = []
    for compile in (False, True):
        learner, data = parts(compile=compile, **options)
        history = learner.fit(data, data, epochs=4, display="quiet")
        values = [history[name] for name in ("train/loss", "train/accuracy", "valid/loss", "valid/accuracy")]
        results.append((values, {k: v.tolist() for k, v in learner.model.state_dict().items()}, learner.updater.grad_norm))
    assert results[0] == results[1]


def test_it_runs_programs(monkeypatch):
    from pyburn.train import fit_loop

    made = []
    original = fit_loop.compiled_batches
    monkeypatch.setattr(fit_loop, "compiled_batches", lambda *args: made.append(original(*args)) or made[-1])
    learner, data = parts(compile=True)
    learner.fit(data, data, epochs=4, display="quiet")
    function = made[0].function
    assert function.programs == 2 and function.runs >= 20, function.explain()  # the last batch of an epoch is smaller


def test_resuming(tmp_path):
    learner, data = parts(compile=True)
    learner.fit(data, data, epochs=4, display="quiet", run=tmp_path / "whole")
    wanted = {k: v.tolist() for k, v in learner.model.state_dict().items()}
    learner, data = parts(compile=True)
    learner.fit(data, data, epochs=2, display="quiet", run=tmp_path / "parts")
    learner, data = parts(compile=True)
    learner.fit(data, data, epochs=4, display="quiet", run=tmp_path / "parts", resume=True)
    assert {k: v.tolist() for k, v in learner.model.state_dict().items()} == wanted


def test_a_bad_loss_stops_the_training_without_changing_the_weights():
    weights = []
    for compile in (False, True):
        learner, _ = parts(compile=compile)
        good = [(pyburn.randn(8, 20, generator=pyburn.Generator().manual_seed(i)), pyburn.zeros(8, dtype=pyburn.int64)) for i in range(6)]
        bad = (good[0][0] * float("inf"), good[0][1])
        learner.model[1].eval()  # its statistics would be spoiled
        with pytest.raises(NonFiniteLoss, match=r"batch 7, step 6"):
            learner.fit([*good, bad, *good], epochs=1, display="quiet", log_every=100)
        weights.append([p.tolist() for p in learner.model.parameters()])
    assert weights[0] == weights[1]


def test_options_that_need_python_in_between():
    class Between(Callback):
        def on_backward_end(self, learner):
            pass

    for options, why in (
        ({"on_nan": "skip"}, "reads each loss"),
        ({"ema": 0.9}, "ema"),
        ({"precision": "float16"}, "gradient scaler"),
        ({"callbacks": [Between()]}, "on_backward_end"),
    ):
        learner, data = parts(compile=True, **options)
        with pytest.warns(UserWarning, match=why):
            learner.fit(data, epochs=1, display="quiet")


def test_a_step_of_its_own():
    results = []
    for compile in (False, True):
        learner, data = parts(compile=compile)

        def step(model, batch):
            x, y = batch
            return nn.functional.cross_entropy(model(x), y) * 0.5

        learner = Learner(learner.model, learner.optimizer, step=step, compile=compile)
        history = learner.fit(data, epochs=3, display="quiet")
        results.append(history["train/loss"])
    assert results[0] == results[1]
