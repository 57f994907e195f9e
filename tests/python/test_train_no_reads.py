"""Training does not wait for the device: nothing is read from it per step, on a backend that counts what is read."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import nn
from pyburn.backend.numpy_backend import NumpyBackend
from pyburn.train import Every, Last, Learner, NonFiniteLoss, ProgressLines, Step, Updater, metrics
from pyburn.train.schedules import advances_per_step, takes_metric

HANDFUL = 12


class Counting(NumpyBackend):
    name = "counting"
    reads = 0

    def download(self, array: Any, dtype: Any) -> Any:
        Counting.reads += 1
        return super().download(array, dtype)


pyburn.backend.register("counting", Counting)


@pytest.fixture(autouse=True)
def nothing_read() -> Iterator[None]:
    Counting.reads = 0
    yield


def batches(count: int = 60, bad: int | None = None, targets: str = "classes") -> list[Any]:
    generator = np.random.default_rng(0)
    made = []
    for index in range(count):
        x = generator.standard_normal((8, 6)).astype(np.float32)
        y = x.argmax(axis=1) % 3 if targets == "classes" else x[:, :3].copy()
        x = x * np.float32(math.nan) if index == bad else x
        made.append((pyburn.tensor(x, device="counting"), pyburn.tensor(y, device="counting")))
    return made


def learner(**options: Any) -> Learner:
    pyburn.manual_seed(0)
    model = nn.Linear(6, 3).to("counting")
    optimizer = options.pop("optimizer", pyburn.optim.Adam)(model.parameters(), lr=0.01)
    return Learner(model, optimizer, loss=options.pop("loss", nn.CrossEntropyLoss()), **options)


def test_the_counter_counts() -> None:
    pyburn.ones(2, device="counting").sum().item()
    assert Counting.reads == 1


def test_two_hundred_steps_read_a_handful_of_values() -> None:
    data, model = batches(200), learner(metrics=["accuracy"])
    Counting.reads = 0
    model.fit(data, None, 1, display="quiet")
    assert Counting.reads <= HANDFUL
    assert model.state.step == 200


@pytest.mark.parametrize("metric", ["accuracy", "top_k", "perplexity", "f1", "precision", "confusion", "auroc", "iou"])
def test_metrics_and_validation_read_a_handful_of_values(metric: str) -> None:
    option = metrics.TopKAccuracy(2) if metric == "top_k" else metric
    data, model = batches(), learner(metrics=[option])
    Counting.reads = 0
    history = model.fit(data, data[:20], 2, display="quiet")
    assert Counting.reads <= 2 * HANDFUL
    assert history["train/loss"][1] < history["train/loss"][0]


@pytest.mark.parametrize("metric", ["mae", "mse", "rmse", "r2"])
def test_metrics_of_numbers_wait_too(metric: str) -> None:
    data, model = batches(targets="numbers"), learner(loss=nn.MSELoss(), metrics=[metric])
    Counting.reads = 0
    model.fit(data, None, 1, display="quiet")
    assert Counting.reads <= HANDFUL


@pytest.mark.parametrize(
    "options",
    [
        {"clip_norm": 0.1},
        {"clip_value": 0.1},
        {"accumulate": 4},
        {"ema": 0.9},
        {"precision": "bfloat16"},
        {"on_nan": "ignore"},
        {"optimizer": pyburn.optim.SGD},
    ],
    ids=str,
)
def test_options_of_the_learner_read_nothing_either(options: dict[str, Any]) -> None:
    data, model = batches(), learner(metrics=["accuracy"], **options)
    Counting.reads = 0
    model.fit(data, None, 1, display=ProgressLines(io.StringIO()))
    assert Counting.reads <= HANDFUL


def test_a_run_reads_when_it_writes(tmp_path: Any) -> None:
    data, model = batches(), learner(metrics=["accuracy"])
    Counting.reads = 0
    model.fit(data, None, 1, run=tmp_path, checkpoints=[Last(), Every(steps=30)], log_every=20, display="quiet")
    assert Counting.reads <= 5 * HANDFUL


def test_the_values_are_those_of_a_loop_that_reads_each() -> None:
    data, model = batches(30), learner(metrics=["accuracy", "perplexity"])
    history = model.fit(data, None, 1, display="quiet")
    by_hand = learner()
    total, right = 0.0, 0
    for x, y in data:
        output = by_hand.model(x)
        loss = nn.functional.cross_entropy(output, y)
        by_hand.optimizer.zero_grad()
        loss.backward()
        by_hand.optimizer.step()
        total += loss.item() * len(y)
        right += int((output.argmax(1) == y).sum())
    assert history["train/loss"] == [total / 240]
    assert history["train/accuracy"] == [right / 240]
    assert history["train/perplexity"][0] == pytest.approx(math.exp(total / 240), rel=1e-5)
    np.testing.assert_array_equal(model.model.weight.tolist(), by_hand.model.weight.tolist())


@pytest.mark.parametrize("optimizer", [pyburn.optim.SGD, pyburn.optim.Adam, pyburn.optim.NAdam, pyburn.optim.Adafactor])
def test_weights_are_those_from_before_a_loss_that_is_not_finite(optimizer: Any) -> None:
    """It is noticed at the end of the epoch; Adafactor's steps are left out by the host, which has to ask the device."""
    good = learner(optimizer=optimizer)
    good.fit(batches(10), None, 1, display="quiet")
    model = learner(optimizer=optimizer)
    with pytest.raises(NonFiniteLoss) as caught:
        model.fit(batches(30, bad=10), None, 1, display="quiet")
    text = str(caught.value)
    assert "the loss is nan in epoch 1, batch 11, step 10 " in text
    assert "noticed in batch 30: steps 11 to 30 were left out" in text
    assert "look at the data of that batch" in text
    assert model.state.step == 10
    np.testing.assert_array_equal(model.model.weight.tolist(), good.model.weight.tolist())
    for mine, other in zip(model.optimizer.state.values(), good.optimizer.state.values()):
        for key in set(mine) - {"mu_product"}:
            np.testing.assert_array_equal(np.asarray(mine[key].tolist()), np.asarray(other[key].tolist()), err_msg=key)
    assert getattr(model.optimizer, "found_inf", None) is None


def test_nothing_is_written_after_a_loss_that_is_not_finite(tmp_path: Any) -> None:
    model = learner()
    with pytest.raises(NonFiniteLoss, match="step 10"):
        model.fit(batches(30, bad=10), None, 1, run=tmp_path, checkpoints=[Every(steps=4)], display="quiet")
    assert model.checkpoints is not None
    assert [entry.step for entry in model.checkpoints.entries] == [4, 8, 10]
    for entry in model.checkpoints.entries:
        assert all(np.isfinite(value.numpy()).all() for value in model.checkpoints.load(entry)["model"].values())


def test_somebody_who_looks_finds_it_at_once() -> None:
    """The display, a callback: training stops with the batch in which the value was looked at."""

    class Looks(pyburn.train.Callback):
        def on_batch_end(self, learner: Learner) -> None:
            if learner.state.batch == 15:
                assert math.isfinite(learner.state.values["train/loss"])  # of the batches before

    model = learner(callbacks=[Looks()])
    with pytest.raises(NonFiniteLoss, match="noticed in batch 15: steps 11 to 15"):
        model.fit(batches(30, bad=10), None, 1, display="quiet")


def test_a_scaler_reads_one_value_per_step() -> None:
    """As PyTorch's: whether to make the step is decided by the host."""
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to("counting")
    update = Updater(model, pyburn.optim.SGD(model.parameters(), lr=0.1), scaler=pyburn.amp.GradScaler(init_scale=4.0))
    for x, y in batches(5):
        update.backward(nn.functional.cross_entropy(model(x), y), len(y))
        update.step_if_due()
    assert Counting.reads == 5


def test_losses_may_be_written_over() -> None:
    """A user-defined step may return the same tensors each time."""
    data = [float(i) for i in range(10)]
    weight = nn.Parameter(pyburn.zeros(1))
    kept, output, target = nn.Parameter(pyburn.zeros(())), pyburn.zeros(4), pyburn.zeros(4)

    def step(model: Any, batch: float) -> Step:
        with pyburn.no_grad():
            kept.fill_(batch)
            output.fill_(batch)
        return Step(kept, output, target, count=1)

    model = nn.Module()
    model.weight = weight
    trained = Learner(model, pyburn.optim.SGD([weight], lr=0.1), step=step, metrics=["mae", "r2"])
    history = trained.fit(data, None, 1, display="quiet")
    assert history["train/loss"] == history["train/mae"] == [4.5]


# --- schedules are known by their interface ----------------------------------------------------------------------------------


class Watching:
    """A schedule of a user's own: no base class, and a step that wants a value."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def step(self, metrics: float) -> None:
        self.seen.append(metrics)

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = list(state["seen"])


class PerBatch(Watching):
    per_step = True

    def step(self) -> None:  # type: ignore[override]
        self.seen.append(0.0)


def test_a_schedule_whose_step_takes_a_value_gets_it() -> None:
    data = batches(5)
    for monitor, expected in ((None, "valid/loss"), ("train/accuracy", "train/accuracy")):
        schedule = Watching()
        model = learner(lr_scheduler=schedule, metrics=["accuracy"], monitor=monitor)
        history = model.fit(data, data, 3, display="quiet")
        assert schedule.seen == history[expected]


def test_a_schedule_needs_no_state(tmp_path: Any) -> None:
    class Halving:
        def __init__(self, optimizer: Any) -> None:
            self.optimizer = optimizer

        def step(self, metrics: float) -> None:
            assert math.isfinite(metrics)
            self.optimizer.param_groups[0]["lr"] *= 0.5

    for epochs in (2, 3):  # the second time it is resumed: the rate is part of the optimiser's state
        model = learner()
        model.lr_scheduler = Halving(model.optimizer)
        model.fit(batches(5), None, epochs, run=tmp_path, resume=True, display="quiet")
        assert model.optimizer.param_groups[0]["lr"] == 0.01 * 0.5**epochs


def test_a_schedule_that_says_so_advances_with_each_step() -> None:
    schedule = PerBatch()
    learner(lr_scheduler=schedule).fit(batches(5), None, 2, display="quiet")
    assert len(schedule.seen) == 10


def test_schedules_of_pyburn_and_their_subclasses() -> None:
    optimizer = pyburn.optim.SGD([nn.Parameter(pyburn.ones(1))], lr=0.1, momentum=0.9)
    schedules = pyburn.optim.lr_scheduler

    class Mine(schedules.OneCycleLR):
        pass

    class Plateau(schedules.ReduceLROnPlateau):
        pass

    steps = schedules.StepLR(optimizer, 1)
    cycle = Mine(optimizer, 0.1, total_steps=5)
    assert advances_per_step(cycle)
    assert advances_per_step(schedules.CyclicLR(optimizer, 0.1, 1.0))
    assert advances_per_step(schedules.SequentialLR(optimizer, [steps, cycle], milestones=[1]))
    assert not advances_per_step(steps)
    assert not advances_per_step(None)
    assert takes_metric(Plateau(optimizer))
    assert not takes_metric(steps)
    assert not takes_metric(cycle)


# --- a device that works later than it is called -----------------------------------------------------------------------------


@pytest.mark.skipif(not os.environ.get("PYBURN_LATE_LEAF"), reason="PYBURN_LATE_LEAF is not set: make test sets it")
@pytest.mark.parametrize("stack", ["late", "fusion(late)", "remote(late)"])
def test_training_on_a_device_with_a_thread_of_its_own(stack: str) -> None:
    pyburn.load_library(os.environ["PYBURN_LATE_LEAF"])

    def trained(device: str, bad: int | None) -> Learner:
        pyburn.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
        made = Learner(model, pyburn.optim.Adam(model.parameters(), lr=0.01), loss=nn.CrossEntropyLoss(), metrics=["accuracy", "f1"])
        data = [(x.to(device), y.to(device)) for x, y in batches(20, bad)]
        if bad is None:
            made.fit(data, data, 1, display="quiet")
        else:
            with pytest.raises(NonFiniteLoss, match=f"batch {bad + 1}, step {bad} "):
                made.fit(data, data, 1, display="quiet")
        return made

    for bad in (None, 7):
        here, there = trained("cpu", bad), trained(stack, bad)
        for name, value in there.history.rows[0].items() if bad is None else ():
            assert value == pytest.approx(here.history.rows[0][name], rel=1e-5), name
        for mine, other in zip(there.model.parameters(), here.model.parameters()):
            np.testing.assert_allclose(mine.tolist(), other.tolist(), rtol=1e-5, atol=1e-6)
