"""Trainings that fail: NaN, a full disk, wrong arguments, an exception in the middle."""

from __future__ import annotations

import errno
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyburn import nn
from pyburn.train import (
    Callback,
    CheckpointError,
    Last,
    Learner,
    NonFiniteLoss,
    Step,
    TrainingError,
    When,
    read_run,
)

sys.path.insert(0, str(Path(__file__).parent))
from training_case import Batches, linear


class Poisoned(Batches):
    def __iter__(self) -> Any:
        for index, (x, y) in enumerate(super().__iter__()):
            yield (x * math.nan if index == 4 else x), y


def test_nan_raises_an_error_and_keeps_the_weights(tmp_path: Path) -> None:
    good = linear()
    good.fit(list(Batches(False))[:4], None, 1, display="quiet")
    learner = linear()
    with pytest.raises(NonFiniteLoss) as caught:
        learner.fit(Poisoned(False), None, 2, run=tmp_path, display="quiet")
    text = str(caught.value)
    assert "the loss is nan in epoch 1, batch 5, step 4" in text
    assert "look at the data" in text
    assert "resume=True" in text
    np.testing.assert_array_equal(learner.model.weight.detach().numpy(), good.model.weight.detach().numpy())
    record = read_run(tmp_path)
    assert record.state == "failed"
    assert "NonFiniteLoss" in record.status["message"]
    assert record.checkpoints()[-1]["step"] == 4
    assert (tmp_path / "report.html").exists()
    again = linear()
    again.fit(Batches(False), None, 1, run=tmp_path, resume=True, display="quiet")
    assert again.state.step == 6  # the batch is left out, the rest of the epoch is done


def test_the_error_distinguishes_nan_weights_from_a_nan_loss() -> None:
    with pytest.raises(NonFiniteLoss, match="parameters are not finite any more, first 'weight'"):
        linear(callbacks=[When(on_step_end=lambda learner: learner.model.weight.data.fill_(math.nan))]).fit(
            Batches(False), None, 1, display="quiet"
        )
    learner = linear()
    learner.step_function = lambda model, batch: Step((model(batch[0]).sum() * 0).log() * 0, model(batch[0]))
    with pytest.raises(NonFiniteLoss, match="the loss function makes it"):
        learner.fit(Batches(False), None, 1, display="quiet")


def test_nan_batches_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    learner = linear(on_nan="skip")
    history = learner.fit(Poisoned(False), None, 1, display="quiet")
    assert learner.state.step == 6
    assert math.isfinite(history["train/loss"][0])
    assert "batch 5: the batch is left out" in capsys.readouterr().err


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints fail for a while, then work again; the log is complete in the end."""
    import pyburn.train.checkpoints as checkpoints

    real, full = checkpoints.save, [False]

    def save(state: Any, path: Any) -> None:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(state, path)

    monkeypatch.setattr(checkpoints, "save", save)
    told: list[str] = []

    class Disk(Callback):
        def on_epoch_start(self, learner: Learner) -> None:
            full[0] = learner.state.epoch == 2

        def on_message(self, learner: Learner, text: str) -> None:
            told.append(text)

    linear(callbacks=[Disk()]).fit(Batches(False), None, 3, run=tmp_path, checkpoints=[Last(3)], display="quiet")
    assert [one["epoch"] for one in read_run(tmp_path).checkpoints()] == [1, 3]
    assert "No space left on device" in told[0]
    assert "Earlier ones are untouched; the last is step-00000007.pt" in told[0]
    assert "can be written again" in told[1]
    monkeypatch.setattr(checkpoints, "save", save)
    full[0] = True
    learner = linear()
    with pytest.raises(CheckpointError, match="The model is whole in memory"):
        learner.fit(Batches(False), None, 1, run=tmp_path / "b", display="quiet")
    assert learner.history["train/loss"]


@pytest.mark.parametrize("wrong", [{"accumulate": 1.5}, {"accumulate": 0}, {"clip_norm": -1.0}, {"clip_value": 0.0}])
def test_limits_of_steps_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        linear(**wrong)


def test_no_optimizer_and_no_loss() -> None:
    with pytest.raises(TrainingError, match="needs an optimizer"):
        Learner(nn.Linear(2, 2)).fit([], None, 1)
    learner = linear()
    learner.step_function = Learner(learner.model, learner.optimizer).step_function
    with pytest.raises(TypeError, match="no loss: pass loss"):
        learner.fit(Batches(False), None, 1, display="quiet")
    with pytest.raises(ValueError, match="precision must be"):
        linear(precision="float8")
    with pytest.raises(ValueError, match="the loss must be one number"):
        Learner(learner.model, learner.optimizer, loss=nn.CrossEntropyLoss(reduction="none")).fit(Batches(False), None, 1, display="quiet")


def test_an_exception_marks_the_run(tmp_path: Path) -> None:
    def broken(learner: Learner) -> None:
        raise ZeroDivisionError("in a callback")

    with pytest.raises(ZeroDivisionError):
        linear(callbacks=[When(on_step_end=broken)]).fit(Batches(False), None, 1, run=tmp_path, display="quiet")
    assert read_run(tmp_path).status["message"] == "ZeroDivisionError: in a callback"
