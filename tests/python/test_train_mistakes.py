"""Common mistakes in the arguments of a Learner are reported in one sentence, or simply work."""

from __future__ import annotations

from typing import Any

import pytest

import pyburn
from pyburn import nn, optim
from pyburn.data import DataLoader, Dataset, TensorDataset
from pyburn.train import Learner, NonFiniteLoss, TrainingError


def regression() -> tuple[nn.Module, TensorDataset]:
    pyburn.manual_seed(0)
    x = pyburn.rand(16, 2)
    return nn.Linear(2, 1), TensorDataset(x, x.sum(1, keepdim=True))


def fit(loss: Any, *, lr: float = 0.1, epochs: int = 1, **options: Any) -> Any:
    model, data = regression()
    learner = Learner(model, optim.SGD(model.parameters(), lr=lr), loss=loss, **options)
    return learner.fit(DataLoader(data, batch_size=8), epochs=epochs, display="quiet")


def test_a_loss_is_a_module_its_class_or_a_name() -> None:
    losses = [fit(loss)["train/loss"] for loss in (nn.MSELoss(), nn.MSELoss, "mse")]
    assert losses[0] == losses[1] == losses[2]


@pytest.mark.parametrize(
    ("loss", "error", "text"),
    [("mes", ValueError, "did you mean 'mse'"), ("?", ValueError, "Expected one of bce"), (3, TypeError, "got 3")],
)
def test_an_unknown_loss(loss: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        fit(loss)


def test_the_optimizer_of_another_model() -> None:
    model, data = regression()
    learner = Learner(model, optim.Adam(nn.Linear(2, 1).parameters()), loss="mse")
    with pytest.raises(TrainingError, match=r"made for another one. Create it with pyburn.optim.Adam\(model.parameters"):
        learner.fit(DataLoader(data, batch_size=8), display="quiet")


class Labelled(Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[pyburn.Tensor, int]:
        return pyburn.ones(2), index % 2


@pytest.mark.parametrize("data", [regression()[1], Labelled()])
@pytest.mark.parametrize("argument", ["train_data", "valid_data"])
def test_a_data_set_without_batches(data: Any, argument: str) -> None:
    model, good = regression()
    learner = Learner(model, optim.SGD(model.parameters(), lr=0.1), loss="mse")
    arguments = {"train_data": DataLoader(good, batch_size=8), argument: data}
    with pytest.raises(TypeError, match=f"{argument} is a {type(data).__name__}, whose items are single samples: .*DataLoader"):
        learner.fit(**arguments, display="quiet")


def test_a_data_set_of_batches_is_accepted() -> None:
    class Batches(Labelled):
        def __getitem__(self, index: int) -> Any:
            if index >= 4:
                raise IndexError
            return pyburn.ones(8, 2), pyburn.ones(8, 1)

    model, _ = regression()
    assert len(Learner(model, optim.SGD(model.parameters(), lr=0.1), loss="mse").fit(Batches(), display="quiet")) == 1


def test_the_divergence_error_lists_the_previous_losses() -> None:
    with pytest.raises(NonFiniteLoss, match=r"The losses before were .*e\+3\d") as caught:
        fit("mse", lr=5.0, epochs=400, clip_norm=1e30)
    assert "Training diverged: the learning rate 5 is too high" in str(caught.value)
    assert "gradient norm of the last step was" in str(caught.value)
