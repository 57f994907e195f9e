"""A small training for tests, also as a program that can be killed: python training_case.py FOLDER [--slow] [--epochs N]."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import pyburn
from pyburn import nn
from pyburn.train import Best, Every, Last, Learner

ITEMS, BATCH = 50, 8


def seed_everything(seed: int) -> None:
    pyburn.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def problem() -> tuple[Any, Any]:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((ITEMS, 6)).astype(np.float32)
    y = (x @ generator.standard_normal((6, 3))).argmax(axis=1)
    return pyburn.from_numpy(x), pyburn.from_numpy(y)


class Batches:
    """A plain iterable: shuffled by Python's generator, noisy by numpy's and pyburn's, and without a state of its own."""

    def __init__(self, shuffle: bool, delay: float = 0.0) -> None:
        self.shuffle, self.delay = shuffle, delay
        self.x, self.y = problem()

    def __len__(self) -> int:
        return -(-ITEMS // BATCH)

    def __iter__(self) -> Iterator[Any]:
        order = list(range(ITEMS))
        if self.shuffle:
            random.shuffle(order)
        for start in range(0, ITEMS, BATCH):
            chosen = pyburn.tensor(order[start : start + BATCH])
            x = self.x[chosen]
            if self.shuffle:
                x = x + 0.01 * pyburn.randn(*x.shape) + 0.01 * float(np.random.rand())
            time.sleep(self.delay)
            yield x, self.y[chosen]


class StatefulBatches(Batches):
    """With the protocol of loaders that keep their own place, and with a generator of its own."""

    def __init__(self) -> None:
        super().__init__(True)
        self.generator = random.Random(5)
        self.order: list[int] | None = None  # of the epoch under way
        self.place = 0
        self.drawn = 0  # batches that were made in all: a resumed epoch must not make those again that were seen

    def state_dict(self) -> dict[str, Any]:
        return {"order": self.order, "place": self.place, "generator": self.generator.getstate()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.order, self.place = state["order"], state["place"]
        self.generator.setstate(state["generator"])

    def __iter__(self) -> Iterator[Any]:
        if self.order is None:
            self.order, self.place = list(range(ITEMS)), 0
            self.generator.shuffle(self.order)
        while self.place < ITEMS:
            chosen = pyburn.tensor(self.order[self.place : self.place + BATCH])
            self.place += BATCH
            self.drawn += 1
            yield self.x[chosen], self.y[chosen]
        self.order = None


class EndingBatches(StatefulBatches):
    """As some loaders do: loaded with the state of an epoch that is over, it first ends that one."""

    def __iter__(self) -> Iterator[Any]:
        if self.order is None and self.place:
            self.place = 0
            return
        yield from super().__iter__()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.place = self.place or ITEMS


def make_learner(**options: Any) -> Learner:
    """With all that has a state: batch norm, dropout, momentum, schedule, scaler, average."""
    seed_everything(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))
    optimizer = pyburn.optim.AdamW(model.parameters(), lr=0.02)
    schedule = pyburn.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    defaults: dict[str, Any] = {"metrics": ["accuracy", "auroc", "f1"], "clip_norm": 1.0, "ema": 0.9}
    return Learner(model, optimizer, schedule, nn.CrossEntropyLoss(), **{**defaults, **options})


def linear(**options: Any) -> Learner:
    pyburn.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = pyburn.optim.SGD(model.parameters(), lr=0.1)
    return Learner(model, optimizer, loss=nn.CrossEntropyLoss(), **options)


def weights(learner: Learner) -> dict[str, np.ndarray]:
    """Everything that training changes, as bits."""
    found = {f"model.{k}": v.numpy().copy() for k, v in learner.model.state_dict().items()}
    if learner.updater.ema is not None:
        found.update({f"ema.{k}": v.numpy().copy() for k, v in learner.updater.ema.state_dict().items()})
    for index, state in learner.optimizer.state_dict()["state"].items():
        found.update({f"optimizer.{index}.{k}": np.asarray(v.numpy() if hasattr(v, "numpy") else v) for k, v in state.items()})
    return found


RULES = [Last(), Best("valid/loss"), Every(steps=3, keep=2)]

if __name__ == "__main__":
    folder, slow = sys.argv[1], "--slow" in sys.argv
    epochs = int(sys.argv[sys.argv.index("--epochs") + 1]) if "--epochs" in sys.argv else 6
    learner = make_learner()
    data = Batches(True, 0.01 if slow else 0.0)
    history = learner.fit(data, Batches(False), epochs, run=folder, checkpoints=RULES, resume=True, log_every=1, display="lines")
    print("stopped:", history.stopped)
    np.savez(f"{folder}/weights.npz", **weights(learner))  # type: ignore[arg-type]
