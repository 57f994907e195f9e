"""The Learner: what it computes, what it calls, how it stops, what it says when something is wrong."""

from __future__ import annotations

import doctest
import importlib
import io
import json
import math
import os
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
import pyburn.train
from pyburn import nn
from pyburn.nn import functional as F
from pyburn.train import (
    Callback,
    EarlyStopping,
    Every,
    Last,
    Learner,
    Profiler,
    Progress,
    ProgressBar,
    ProgressLines,
    Samples,
    Step,
    TrainingError,
    Updater,
    When,
    read_run,
)
from pyburn.train.callbacks import HOOKS
from pyburn.train.displays import display_for

sys.path.insert(0, str(Path(__file__).parent))
from training_case import BATCH, ITEMS, Batches, linear, make_learner, problem, weights


def test_fit_is_the_plain_loop() -> None:
    learner = linear(metrics=["accuracy"])
    history = learner.fit(Batches(False), None, 2, display="quiet")
    pyburn.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = pyburn.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        total, right = 0.0, 0
        for x, y in Batches(False):
            optimizer.zero_grad()
            output = model(x)
            loss = F.cross_entropy(output, y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
            right += int((output.argmax(1) == y).sum().item())
    np.testing.assert_array_equal(learner.model.weight.detach().numpy(), model.weight.detach().numpy())
    assert history["train/loss"][-1] == pytest.approx(total / ITEMS)
    assert history["train/accuracy"][-1] == pytest.approx(right / ITEMS)


def test_validation_is_exact_and_leaves_modes_alone() -> None:
    learner = make_learner(ema=None)
    learner.model[1].eval()  # a frozen batch norm
    learner.model[3].train()
    values = learner.validate(Batches(False))
    assert [m.training for m in learner.model] == [True, False, True, True, True]
    x, y = problem()
    learner.model.eval()
    with pyburn.no_grad():
        output = learner.model(x)
    assert values["loss"] == pytest.approx(F.cross_entropy(output, y).item(), rel=1e-5)
    assert values["accuracy"] == pytest.approx((output.argmax(1) == y).float().mean().item())
    np.testing.assert_allclose(learner.predict(Batches(False)).numpy(), output.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(learner.predict(x).numpy(), output.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(learner.predict([x[:7], x[7:]]).numpy(), output.numpy(), rtol=1e-5, atol=1e-6)


def test_accumulated_batches_are_one_large_batch() -> None:
    """Uneven ones, too: items count alike."""
    x, y = problem()
    small, large = linear(accumulate=3), linear()
    small.fit([(x[:8], y[:8]), (x[8:12], y[8:12]), (x[12:30], y[12:30]), (x[30:], y[30:])], None, 1, display="quiet")
    large.fit([(x[:30], y[:30]), (x[30:], y[30:])], None, 1, display="quiet")
    assert small.state.step == large.state.step == 2
    np.testing.assert_allclose(small.model.weight.detach().numpy(), large.model.weight.detach().numpy(), rtol=1e-5, atol=1e-7)


def test_clipping() -> None:
    seen: list[float] = []

    def norm(learner: Learner) -> None:
        seen.append(math.sqrt(sum(float((p.grad**2).sum()) for p in learner.model.parameters())))

    linear(clip_norm=0.01, callbacks=[When(on_step_start=norm)]).fit(Batches(False), None, 1, display="quiet")
    assert max(seen) <= 0.0101
    seen.clear()
    linear(clip_value=1e-3, callbacks=[When(on_step_start=norm)]).fit(Batches(False), None, 1, display="quiet")
    assert 0 < max(seen) <= 1e-3 * math.sqrt(21) * 1.001


def test_schedules_by_step_and_by_epoch() -> None:
    rates: list[float] = []
    callback = When(on_step_start=lambda learner: rates.append(learner.optimizer.param_groups[0]["lr"]))
    for kind, expected in (("epoch", [0.1] * 7 + [0.05] * 7), ("step", [0.1 * 0.5**i for i in range(14)])):
        rates.clear()
        learner = linear(callbacks=[callback], schedule=kind)
        learner.lr_scheduler = pyburn.optim.lr_scheduler.ExponentialLR(learner.optimizer, 0.5)
        learner.fit(Batches(False), None, 2, display="quiet")
        assert rates == pytest.approx(expected)
    learner = linear()
    one_cycle = pyburn.optim.lr_scheduler.OneCycleLR(learner.optimizer, 0.5, total_steps=20)
    assert Learner(learner.model, learner.optimizer, one_cycle).schedule == "step"


def test_plateau_looks_at_validation() -> None:
    learner = linear()
    learner.lr_scheduler = pyburn.optim.lr_scheduler.ReduceLROnPlateau(learner.optimizer, patience=0, threshold=10.0)
    learner.fit(Batches(False), Batches(False), 3, display="quiet")
    assert learner.optimizer.param_groups[0]["lr"] < 0.1


def test_average_is_used_for_validation() -> None:
    learner = linear(ema=0.5)
    seen = []
    callback = When(on_step_end=lambda learner: seen.append(learner.model.weight.detach().numpy().copy()))
    learner.callbacks.append(callback)
    learner.fit(Batches(False), None, 1, display="quiet")
    expected = seen[0]
    for value in seen[1:]:
        expected = 0.5 * expected + 0.5 * value
    np.testing.assert_allclose(learner.eval_model.weight.detach().numpy(), expected, rtol=1e-5)
    assert learner.eval_model is not learner.model


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision(precision: str) -> None:
    dtypes = []
    learner = linear(precision=precision, callbacks=[When(on_forward_end=lambda learner: dtypes.append(learner.state.result.output.dtype))])
    history = learner.fit(Batches(False), None, 8, display="quiet")
    assert set(dtypes) == {getattr(pyburn, precision)}
    assert learner.model.weight.dtype == pyburn.float32
    assert (learner.updater.scaler is not None) == (precision == "float16")
    assert history["train/loss"][-1] < history["train/loss"][0]


def test_all_hooks_in_order() -> None:
    calls: list[str] = []

    class Recorder(Callback):
        pass

    for hook in HOOKS:
        setattr(Recorder, hook, lambda self, learner, *args, hook=hook: calls.append(hook))
    x, y = problem()
    linear(callbacks=[Recorder()], accumulate=2).fit([(x[:8], y[:8]), (x[8:], y[8:])], [(x, y)], 1, display="quiet")
    batch = ["on_batch_start", "on_forward_end", "on_backward_end", "on_batch_end"]
    validation = ["on_validation_start", "on_validation_batch_start", "on_validation_batch_end", "on_validation_end"]
    step = ["on_step_start", "on_step_end"]
    assert calls == ["on_fit_start", "on_epoch_start", *batch, *batch, *step, *validation, "on_epoch_end", "on_fit_end"]


def test_a_callback_may_stop() -> None:
    history = linear(callbacks=[When(on_batch_end=lambda learner: learner.state.batch == 3 and learner.stop("enough"))]).fit(
        Batches(False), None, 5, display="quiet"
    )
    assert history.stopped == "enough"
    assert history.rows == []


def test_early_stopping_and_the_best_weights() -> None:
    values = iter([0.5, 0.4, 0.45, 0.6, 0.7, 0.1])
    kept: list[np.ndarray] = []

    class Pretend(Callback):
        def on_validation_end(self, learner: Learner) -> None:
            kept.append(learner.model.weight.detach().numpy().copy())

        def on_epoch_end(self, learner: Learner) -> None:
            learner.state.values["valid/loss"] = next(values)

    stopping = EarlyStopping("valid/loss", patience=2, restore_best=True)
    learner = linear(callbacks=[Pretend(), stopping])
    history = learner.fit(Batches(False), Batches(False), 6, display="quiet")
    assert len(history) == 4
    assert stopping.best_epoch == 2
    np.testing.assert_array_equal(learner.model.weight.detach().numpy(), kept[1])
    with pytest.raises(KeyError, match="there is no 'valid/lss'"):
        linear(callbacks=[EarlyStopping("valid/lss")]).fit(Batches(False), None, 1, display="quiet")


def test_epochs_that_are_not_validated_do_not_count(tmp_path: Path) -> None:
    stopping = EarlyStopping("valid/loss", patience=2, min_delta=1e9)  # nothing is ever good enough
    learner = linear(callbacks=[stopping])
    options = {"validate_every": 3, "display": "quiet", "run": tmp_path / "run", "checkpoints": [Last(3)]}
    history = learner.fit(Batches(False), Batches(False), 20, **options)
    assert [row["epoch"] for row in history.rows if "valid/loss" in row] == [3, 6, 9]  # the first is the best, the others wait
    assert stopping.best_epoch == 3 and len(history) == 9
    assert learner.checkpoints is not None
    assert ["valid/loss" in entry.metrics for entry in learner.checkpoints.entries] == [False, False, True]  # epochs 7, 8 and 9
    with pytest.raises(KeyError, match="there is no 'valid/lss'"):
        linear(callbacks=[EarlyStopping("valid/lss")]).fit(Batches(False), Batches(False), 4, validate_every=2, display="quiet")
    learner.fit(Batches(False), Batches(False), 2, display="quiet")  # another training: what it waited for is forgotten
    assert stopping.best_epoch == 1


def test_a_plateau_of_epochs_that_are_validated() -> None:
    pyburn.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = pyburn.optim.SGD(model.parameters(), lr=1.0)
    seen: list[float] = []

    class Seen(pyburn.optim.lr_scheduler.ReduceLROnPlateau):
        def step(self, metrics: float, epoch: int | None = None) -> None:  # type: ignore[override]
            seen.append(metrics)
            super().step(metrics)

    Seen.__name__ = "ReduceLROnPlateau"
    learner = Learner(model, optimizer, Seen(optimizer, patience=0), nn.CrossEntropyLoss())
    history = learner.fit(Batches(False), Batches(False), 5, validate_every=2, display="quiet")
    assert seen == history["valid/loss"] and len(seen) == 3  # epochs 2, 4 and, since it is the last, 5


def test_the_best_average_comes_back() -> None:
    values = iter([0.5, 0.1, 0.4, 0.6])
    kept: list[np.ndarray] = []

    class Pretend(Callback):
        def on_epoch_end(self, learner: Learner) -> None:
            learner.state.values["valid/loss"] = next(values)
            kept.append(learner.eval_model.weight.detach().numpy().copy())

    learner = linear(callbacks=[Pretend(), EarlyStopping(patience=2, restore_best=True)], ema=0.5)
    learner.fit(Batches(False), Batches(False), 9, display="quiet")
    assert len(kept) == 4
    np.testing.assert_array_equal(learner.eval_model.weight.detach().numpy(), kept[1])


def test_validation_without_batches_raises_an_error() -> None:
    with pytest.raises(ValueError, match="the data for 'test' gave no batches"):
        linear(metrics=["accuracy"]).evaluate([])
    with pytest.raises(ValueError, match="the data for 'valid' gave no batches: is it empty, or an iterator that is used up"):
        linear().fit(Batches(False), iter([(pyburn.ones(2, 6), pyburn.tensor([0, 1]))]), 2, display="quiet")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("PYBURN_DISPLAY", raising=False)
    learner = linear()
    for patience, options, expected in ((0.0, {}, True), (60.0, {}, False), (0.0, {"progress": False}, False)):
        monkeypatch.setattr("pyburn._progress._PATIENCE", patience)
        monkeypatch.setattr("pyburn._progress._REDRAW_SECONDS", 0.0)
        monkeypatch.setattr(sys, "stderr", Terminal())
        learner.evaluate(Batches(False), **options)
        text = sys.stderr.getvalue()  # type: ignore[attr-defined]
        assert ("evaluating" in text and "7/7" in text and text.endswith("\r\x1b[2K")) is expected and bool(text) is expected
    monkeypatch.setattr("pyburn._progress._PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    learner.predict(batch for batch in Batches(False))  # nobody knows how many there are
    assert "predicting 7  0s" in sys.stderr.getvalue()  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("PYBURN_DISPLAY", "quiet")
    learner.evaluate(Batches(False))
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_bars_and_times_as_text() -> None:
    from pyburn._progress import bar_text, duration

    assert [duration(seconds) for seconds in (4.2, 75, 4000)] == ["4s", "1:15", "1:06:40"]
    assert bar_text(0.5, 8) == "████    " and bar_text(0.55, 8) == "████▍   "
    bar, steps = Progress([1, 2, 3, 4], "work"), []
    for _ in bar:
        bar.show(loss=0.25)
        steps.append(bar.line(30.0))
    assert steps[3].startswith("work █") and steps[3].endswith(" 3/4  loss 0.2500  10s left")
    assert Progress(iter([1]), "reading").line(2.0) == "reading 0  2s"  # of unknown length


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values so far of training and validation inside an epoch, with their names, and nothing left at the end."""
    monkeypatch.setattr("pyburn.train.displays._REDRAW_SECONDS", 0.0)
    monkeypatch.setattr("pyburn.train.displays._MOST_SHARE", 0)
    monkeypatch.setattr("pyburn._progress._PATIENCE", 0.0)
    monkeypatch.setattr("pyburn._progress._REDRAW_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("PYBURN_DISPLAY", raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((160, 24)))
    text = Terminal()
    make_learner().fit(Batches(False), Batches(False), 1, display=ProgressBar(text))
    drawn = text.getvalue().split("\r\x1b[2K")
    assert any(re.search(r"^epoch 1/1 .* 2/\d+  train: loss \d+\.\d+, accuracy \d\.\d+", line) for line in drawn)
    assert any(re.search(r"^epoch 1/1  2  valid: loss \d+\.\d+, accuracy", line) for line in drawn)
    assert re.fullmatch(r"epoch 1/1  train: loss [\d.]+, accuracy [\d.]+, .*   valid: loss [\d.]+, accuracy [\d.]+.*\n", drawn[-1])
    text = Terminal()
    for _ in (bar := Progress(range(3), "own loop", file=text)):
        bar.show(distance=0.5)
    drawn = text.getvalue().split("\r\x1b[2K")
    assert any("2/3  distance 0.5000" in line for line in drawn) and drawn[-1] == ""


def test_a_metric_that_should_rise() -> None:
    learner = linear(metrics=["accuracy", "mae"])
    assert learner.higher_is_better == {"loss": False, "accuracy": True, "mae": False}


def test_a_step_of_ones_own() -> None:
    def step(model: Any, batch: Any) -> Step:
        output = model(batch["x"])
        loss = F.cross_entropy(output, batch["y"])
        return Step(loss, output, batch["y"], values={"twice": 2 * loss.item()})

    learner = linear(metrics=["accuracy"])
    learner.step_function = step
    x, y = problem()
    values = learner.fit([{"x": x, "y": y}], [{"x": x, "y": y}], 2, display="quiet")
    assert "valid/accuracy" in values
    with pytest.raises(TypeError, match="returns the loss or a"):
        learner.step_function = lambda model, batch: 3.0
        learner.fit([{"x": x, "y": y}], None, 1, display="quiet")
    learner.step_function = lambda model, batch: model(batch["x"]).sum()  # the loss alone
    learner.fit([{"x": x, "y": y}], None, 1, display="quiet")
    assert "train/loss" in learner.history


def test_dict_batches_and_numpy_batches() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(6, 3)

        def forward(self, features: Any) -> Any:
            return self.inner(features)

    x, y = problem()
    model = Named()
    learner = Learner(model, pyburn.optim.SGD(model.parameters(), lr=0.1), loss=nn.CrossEntropyLoss())
    learner.fit([{"features": x.numpy(), "labels": y.numpy()}], None, 1, display="quiet")
    assert learner.predict([{"features": x}]).shape == (ITEMS, 3)


def test_max_steps_and_uneven_epochs() -> None:
    learner = linear()
    history = learner.fit(Batches(False), Batches(False), None, max_steps=10, display="quiet")
    assert learner.state.step == 10
    assert [row["epoch"] for row in history.rows] == [1, 2]
    assert "train/loss" not in history.rows[1]  # the second epoch is not complete, but validated
    assert "valid/loss" in history.rows[1]


def test_no_epochs_at_all(tmp_path: Path) -> None:
    learner = make_learner()
    assert len(learner.fit(Batches(True), epochs=0, run=tmp_path, display="quiet")) == 0
    assert read_run(tmp_path).state == "finished"
    for wrong in ({"epochs": -1}, {"epochs": "two"}, {"max_steps": 1.5}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a non-negative integer"):
            learner.fit(Batches(True), **wrong, display="quiet")


def test_training_data_that_is_used_up() -> None:
    with pytest.raises(ValueError, match="gave no batches, as an iterator that is used up"):
        linear().fit(iter(Batches(False)), None, 2, display="quiet")
    with pytest.raises(ValueError, match="gave no batches"):
        linear().fit([], None, 1, display="quiet")


# --- parts -----------------------------------------------------------------------------------------------------------------


def test_updater_alone() -> None:
    model = nn.Linear(6, 3)
    updater = Updater(model, pyburn.optim.SGD(model.parameters(), lr=0.1), accumulate=2, clip_norm=5.0)
    before = model.weight.detach().numpy().copy()
    steps = []
    for x, y in Batches(False):
        updater.backward(F.cross_entropy(model(x), y), len(x))
        steps.append(updater.step_if_due())
    assert steps == [False, True, False, True, False, True, False]
    assert updater.begun
    assert updater.step_if_due(last=True)
    assert not np.array_equal(before, model.weight.detach().numpy())


def test_find_lr_leaves_no_trace(tmp_path: Path) -> None:
    learner = make_learner()
    before, numbers = weights(learner), pyburn.get_rng_state()
    found = learner.find_lr(Batches(True), start=1e-5, end=10, steps=40)
    after = weights(learner)
    for key in before:
        np.testing.assert_array_equal(before[key], after[key])
    assert pyburn.get_rng_state() == numbers
    assert learner.optimizer.param_groups[0]["lr"] == 0.02
    assert 1e-5 < found.suggestion < 10
    found.save(tmp_path / "lr.svg")
    text = (tmp_path / "lr.svg").read_text()
    assert text.startswith("<svg") and 'class="mark"' in text
    with pytest.raises(ValueError, match="at least 4 steps"):
        learner.find_lr(Batches(True), steps=2)


def test_profiler_writes_a_trace(tmp_path: Path) -> None:
    profiler = Profiler(wait=2, steps=4)
    make_learner(callbacks=[profiler]).fit(Batches(False), None, 2, run=tmp_path, display="quiet")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    phases = [e["name"] for e in events if e["ph"] == "X" and e["tid"] == 1]
    assert phases.count("forward") == phases.count("backward") == phases.count("step") == 4
    assert phases.count("data") == 3
    modules = {e["name"] for e in events if e["ph"] == "X" and e["tid"] == 2}
    assert {"Sequential", "0 (Linear)", "3 (Dropout)"} <= modules
    for e in events:
        assert e["ph"] == "M" or (e["dur"] >= 0 and e["ts"] >= 0)
    assert "0 (Linear)" in profiler.table()
    operations = {e["name"] for e in events if e["ph"] == "X" and e["tid"] == 3}
    assert {"adam_step", "class_loss", "class_loss_backward"} <= operations  # of the step, the forward and the backward pass


def test_lines_and_bars_without_a_terminal() -> None:
    for kind in (ProgressLines, ProgressBar):
        text = io.StringIO()
        make_learner().fit(Batches(False), Batches(False), 2, display=kind(text))
        assert re.search(r"epoch 1/2  train: loss [\d.]+, accuracy [\d.]+, .*   valid: loss [\d.]+, accuracy [\d.]+", text.getvalue())
    assert "\r" in text.getvalue()


def test_displays_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(display_for("auto"), ProgressLines)  # there is no terminal here
    monkeypatch.setenv("PYBURN_DISPLAY", "quiet")
    assert type(display_for("auto")).__name__ == "Quiet"
    assert display_for(None) is None
    with pytest.raises(ValueError, match="expected one of auto, notebook, dashboard"):
        display_for("fancy")


def test_samples_are_written(tmp_path: Path) -> None:
    def make(model: Any) -> list[dict[str, Any]]:
        assert not model.training
        return [{"image": np.zeros((4, 4)), "target": "a", "prediction": "b", "scores": {"a": 0.25}}]

    linear(callbacks=[Samples(make)]).fit(Batches(False), Batches(False), 2, run=tmp_path, display="quiet")
    found = read_run(tmp_path).samples()
    assert [one["epoch"] for one in found] == [1, 2]
    assert (tmp_path / "predictions" / found[0]["samples"][0]["image"]).read_bytes()[:4] == b"\x89PNG"


def test_load_best(tmp_path: Path) -> None:
    learner = linear(metrics=["accuracy"])
    learner.fit(Batches(True), Batches(False), 3, run=tmp_path, display="quiet")
    best = learner.history.best("valid/loss")
    learner.model.weight.data.fill_(0.0)
    entry = learner.load_best()
    assert entry.epoch == best["epoch"]
    assert learner.evaluate(Batches(False))["loss"] == pytest.approx(best["valid/loss"])
    assert read_run(tmp_path).series("epoch", "test", "loss").shape == (1, 4)
    with pytest.raises(TrainingError, match="no checkpoint with a value of 'valid/f7'"):
        learner.load_best("valid/f7")


FOUND = [module.name for module in pkgutil.walk_packages(pyburn.train.__path__, "pyburn.train.")]
MODULES = sorted(name for name in FOUND if not name.endswith(".app"))  # which needs textual


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), extraglobs={"pyburn": pyburn})
    assert result.failed == 0


def test_wrong_rules() -> None:
    for wrong in (lambda: Every(), lambda: Every(steps=0), lambda: Last(0), lambda: Every(steps=1, epochs=1)):
        with pytest.raises(ValueError, match=r"^\["):
            wrong()
    assert BATCH == 8


def test_a_batch_of_graphs_goes_to_the_device_of_the_learner() -> None:
    from pyburn.nn.geometric import Batch, Data, global_add_pool

    graph = Data(x=pyburn.ones(2, 3), edge_index=pyburn.tensor([[0], [1]]), y=pyburn.zeros(1, 1))
    batch = Batch.from_data_list([graph, graph])
    seen: list[str] = []

    class Pooled(nn.Linear):
        def forward(self, graphs: Any) -> Any:
            seen.append(str(graphs.x.device))
            return super().forward(global_add_pool(graphs.x, graphs.batch, graphs.num_graphs))

    device = pyburn.ones(1).to("numpy").device
    Learner(Pooled(3, 1), loss=nn.MSELoss(), device=device).validate([(batch, batch.y)])
    assert seen == [str(device)]
